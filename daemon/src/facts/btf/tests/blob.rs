//! Builds BTF by hand: each method appends one type and returns its id.

/// Types and strings of a file to be.
#[derive(Clone, Default)]
pub(in crate::facts) struct Blob {
    types: Vec<u8>,
    strings: Vec<u8>,
    count: u32,
}

/// One member of a struct to be; the place is in bits.
pub(in crate::facts) struct Member<'a> {
    name: &'a str,
    ty: u32,
    bit_offset: u32,
    bit_size: u32,
}

impl<'a> Member<'a> {
    /// A whole member at `byte`.
    pub(in crate::facts) fn at(name: &'a str, ty: u32, byte: u32) -> Self {
        Self {
            name,
            ty,
            bit_offset: byte * 8,
            bit_size: 0,
        }
    }

    /// A bitfield of `bit_size` bits at `bit_offset`.
    pub(in crate::facts) fn bits(name: &'a str, ty: u32, bit_offset: u32, bit_size: u32) -> Self {
        Self {
            name,
            ty,
            bit_offset,
            bit_size,
        }
    }
}

impl Blob {
    /// The whole file.
    pub(in crate::facts) fn bytes(&self) -> Vec<u8> {
        let types = self.types.len() as u32;
        let strings = 1 + self.strings.len() as u32;
        let mut bytes = vec![0x9f, 0xeb, 1, 0];
        for word in [24, 0, types, types, strings] {
            bytes.extend(u32::to_le_bytes(word));
        }
        bytes.extend(&self.types);
        bytes.push(0);
        bytes.extend(&self.strings);
        bytes
    }

    /// The id that the next type will have.
    pub(in crate::facts) fn next_id(&self) -> u32 {
        self.count + 1
    }

    fn words(&mut self, words: &[u32]) {
        self.types
            .extend(words.iter().flat_map(|word| word.to_le_bytes()));
    }

    fn string(&mut self, text: &str) -> u32 {
        if text.is_empty() {
            return 0;
        }
        let offset = 1 + self.strings.len() as u32;
        self.strings.extend(text.as_bytes());
        self.strings.push(0);
        offset
    }

    fn head(&mut self, kind: u32, name: &str, vlen: usize, size_or_type: u32) -> u32 {
        let name = self.string(name);
        self.words(&[name, kind << 24 | vlen as u32, size_or_type]);
        self.count += 1;
        self.count
    }

    /// An integer of `size` bytes of which `bits` are used.
    pub(in crate::facts) fn int(&mut self, name: &str, size: u32, bits: u32) -> u32 {
        let id = self.head(1, name, 0, size);
        self.words(&[bits]);
        id
    }

    /// An array of `len` elements.
    pub(in crate::facts) fn array(&mut self, ty: u32, len: u32) -> u32 {
        let id = self.head(3, "", 0, 0);
        self.words(&[ty, ty, len]);
        id
    }

    /// A kind that only refers to another type: pointer 2, typedef 8, const 10, function 12, …
    pub(in crate::facts) fn reference(&mut self, kind: u32, name: &str, ty: u32) -> u32 {
        self.head(kind, name, 0, ty)
    }

    /// A forward declaration of a struct.
    pub(in crate::facts) fn forward(&mut self, name: &str) -> u32 {
        self.head(7, name, 0, 0)
    }

    /// A function prototype with one parameter per type.
    pub(in crate::facts) fn prototype(&mut self, params: &[u32]) -> u32 {
        let id = self.head(13, "", params.len(), 0);
        for &ty in params {
            self.words(&[0, ty]);
        }
        id
    }

    /// A struct (kind 4) or union (kind 5) of whole members.
    pub(in crate::facts) fn composite(
        &mut self,
        kind: u32,
        name: &str,
        size: u32,
        members: &[Member<'_>],
    ) -> u32 {
        let id = self.head(kind, name, members.len(), size);
        for member in members {
            let name = self.string(member.name);
            self.words(&[name, member.ty, member.bit_offset]);
        }
        id
    }

    /// The same with the kind flag, so that members can be bitfields.
    pub(in crate::facts) fn flagged(
        &mut self,
        kind: u32,
        name: &str,
        size: u32,
        members: &[Member<'_>],
    ) -> u32 {
        let kind_and_flag = kind | 0x80;
        let id = self.head(kind_and_flag, name, members.len(), size);
        for member in members {
            let name = self.string(member.name);
            self.words(&[name, member.ty, member.bit_size << 24 | member.bit_offset]);
        }
        id
    }
}
