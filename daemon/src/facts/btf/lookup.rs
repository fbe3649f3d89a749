//! Where a member lies: through anonymous structs and unions, through typedefs and qualifiers.

use std::collections::HashSet;

use super::{
    Btf, BtfError,
    raw::{Member, Type},
};

/// Longest chain of typedefs and qualifiers followed; C code has three or four.
const MAX_ALIASES: usize = 32;

impl Btf {
    /// Offset in bytes of a member from the start of the struct or union `name`. `path` is a
    /// member, or a path of them: `map.id`. Members of anonymous structs and unions are found by
    /// their own name, as in C. Of several structs with one name the first counts.
    ///
    /// # Errors
    /// Names struct and member when either is not there, the member is a bitfield, or the path
    /// leads through something that is not a struct (a pointer is not followed).
    pub fn member_offset(&self, name: &str, path: &str) -> Result<u32, BtfError> {
        let root = self.composite(name)?;
        let size = root.size_or_type;
        let mut at = root;
        let mut bits = 0u64;
        let mut steps = path.split('.').peekable();
        while let Some(step) = steps.next() {
            let (offset, member) =
                self.find_member(&at, step)
                    .ok_or_else(|| BtfError::NoMember {
                        name: name.into(),
                        path: path.into(),
                        step: step.into(),
                    })?;
            bits += offset;
            let target = self.resolve(member.ty);
            let narrowed = target.as_ref().is_some_and(Type::is_narrowed_int);
            if member.bitfield || narrowed || !bits.is_multiple_of(8) {
                return Err(BtfError::Bitfield {
                    name: name.into(),
                    path: path.into(),
                });
            }
            if steps.peek().is_some() {
                at = target
                    .filter(Type::is_composite)
                    .ok_or_else(|| BtfError::NotStruct {
                        name: name.into(),
                        path: path.into(),
                        step: step.into(),
                    })?;
            }
        }
        u32::try_from(bits / 8)
            .ok()
            .filter(|&bytes| bytes <= size)
            .ok_or_else(|| BtfError::OutOfStruct {
                name: name.into(),
                path: path.into(),
                size,
            })
    }

    /// Number of elements of the member `member`, an array, of the struct `name`; `None` where
    /// there is no such struct or member, or it is no array.
    pub fn array_len(&self, name: &str, member: &str) -> Option<u32> {
        let (_, member) = self.find_member(&self.composite(name).ok()?, member)?;
        self.resolve(member.ty)?.array_len()
    }

    /// The member called `name` in `ty` or in an anonymous part of it, and its distance in bits
    /// from the start of `ty`. Each type is looked at once, so one that contains itself ends too.
    fn find_member(&self, ty: &Type<'_>, name: &str) -> Option<(u64, Member)> {
        let mut seen = HashSet::new();
        let mut parts = vec![(0, ty.id)];
        while let Some((base, id)) = parts.pop() {
            let part = self.resolve(id).filter(Type::is_composite);
            let Some(part) = part.filter(|part| seen.insert(part.id)) else {
                continue;
            };
            for member in part.members() {
                let offset = base + u64::from(member.bit_offset);
                if member.name == 0 {
                    parts.push((offset, member.ty));
                } else if self.named(member.name, name) {
                    return Some((offset, member));
                }
            }
        }
        None
    }

    /// The type behind typedefs and qualifiers; `None` for `void`, a missing id and a chain without
    /// an end.
    fn resolve(&self, id: u32) -> Option<Type<'_>> {
        let mut ty = self.get(id)?;
        for _ in 0..MAX_ALIASES {
            if !ty.is_alias() {
                return Some(ty);
            }
            ty = self.get(ty.size_or_type)?;
        }
        None
    }
}
