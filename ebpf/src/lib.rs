//! abi
#![no_std]
