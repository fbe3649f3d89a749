//! Writing a cpio archive in the "newc" format, the only one that the kernel unpacks
//! (Documentation/driver-api/early-userspace/buffer-format.rst).

/// An archive in the making.
#[derive(Default)]
pub(super) struct Archive {
    bytes: Vec<u8>,
    entries: u32,
}

/// File types and permissions as stat(2) has them.
const DIRECTORY: u32 = 0o040_755;
const REGULAR: u32 = 0o100_000;
const CHARACTER: u32 = 0o020_600;

impl Archive {
    /// Adds a directory; its parents must have been added before.
    pub(super) fn directory(&mut self, path: &str) {
        self.entry(path, DIRECTORY, (0, 0), &[]);
    }

    /// Adds a file with the permissions of `mode`.
    pub(super) fn file(&mut self, path: &str, mode: u32, content: &[u8]) {
        self.entry(path, REGULAR | (mode & 0o777), (0, 0), content);
    }

    /// Adds a character device.
    pub(super) fn device(&mut self, path: &str, major: u32, minor: u32) {
        self.entry(path, CHARACTER, (major, minor), &[]);
    }

    /// Ends the archive and returns its bytes.
    pub(super) fn finish(mut self) -> Vec<u8> {
        self.entry("TRAILER!!!", 0, (0, 0), &[]);
        self.bytes
    }

    fn entry(&mut self, path: &str, mode: u32, device: (u32, u32), content: &[u8]) {
        let name = path.trim_start_matches('/');
        // The format has 32 bits for a size; a file beyond that could not boot anyhow.
        let size = u32::try_from(content.len()).unwrap_or(u32::MAX);
        let name_size = u32::try_from(name.len() + 1).unwrap_or(u32::MAX);
        self.entries += 1;
        let links = 1;
        let (major, minor) = device;
        // Inode, mode, uid, gid, links, mtime, size, device, special device, name size, checksum.
        let fields = [
            self.entries,
            mode,
            0,
            0,
            links,
            0,
            size,
            0,
            0,
            major,
            minor,
            name_size,
            0,
        ];
        self.bytes.extend_from_slice(b"070701");
        for field in fields {
            self.bytes
                .extend_from_slice(format!("{field:08x}").as_bytes());
        }
        self.bytes.extend_from_slice(name.as_bytes());
        self.bytes.push(0);
        self.pad();
        self.bytes.extend_from_slice(content);
        self.pad();
    }

    /// Names and contents begin at multiples of four.
    fn pad(&mut self) {
        self.bytes.resize(self.bytes.len().next_multiple_of(4), 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_those_of_the_format() {
        let mut archive = Archive::default();
        archive.directory("dev");
        archive.device("/dev/console", 5, 1);
        archive.file("init", 0o755, b"hello");
        let expected = concat!(
            "07070100000001000041ed000000000000000000000001000000000000000000000000",
            "0000000000000000000000000000000400000000dev\0\0\0",
            "0707010000000200002180000000000000000000000001000000000000000000000000",
            "0000000000000005000000010000000c00000000dev/console\0",
        );
        let bytes = archive.finish();
        let text = String::from_utf8(bytes).unwrap();
        let dev = &text[..116];
        assert_eq!(dev, &expected[..116]);
        assert!(text.contains("000081ed") && text.contains("hello\0\0\0"));
        assert!(text.ends_with("TRAILER!!!\0\0\0\0"));
        assert_eq!(text.len() % 4, 0);
    }
}
