//! mapstorm
