//! The command line of QEMU for a guest: a pure function.

use std::path::Path;
use std::str::FromStr;

use super::Guest;
use super::protocol::Token;

/// The emulator's program.
pub const PROGRAM: &str = "qemu-system-x86_64";

/// Emulation, all processors on one thread. Hardware help is not assumed: where /dev/kvm exists it
/// may not work, and results should be the same everywhere. Attaching patches functions while other
/// processors run through them: with a thread for each, the emulator may go on with the breakpoint
/// that the kernel has put in and taken out again (seen in QEMU 7.2: `Oops: int3` on 6.12, an
/// endless loop on 5.10, panics early in the boot of 7.3).
pub const DEFAULT_ACCEL: &str = "tcg,thread=single";

/// The processor. Without the hypervisor bit the kernel uses the locks of bare metal, which report
/// contention; with it, test-and-set locks that report none.
pub const DEFAULT_CPU: &str = "max,-hypervisor";

/// How many processors a guest has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cpus {
    /// Online after boot.
    pub online: u32,
    /// Possible: those that are not online after boot can be set online.
    pub possible: u32,
}

impl Cpus {
    /// `count` processors and no room for more.
    pub const fn all_online(count: u32) -> Self {
        Self {
            online: count,
            possible: count,
        }
    }
}

impl FromStr for Cpus {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let count = |text: &str| match text.parse::<u32>() {
            Ok(count @ 1..=255) => Ok(count),
            _ => Err(format!(
                "{text} is not a number of processors from 1 to 255"
            )),
        };
        let cpus = match text.split_once(",maxcpus=") {
            Some((online, possible)) => Self {
                online: count(online)?,
                possible: count(possible)?,
            },
            None => Self::all_online(count(text)?),
        };
        if cpus.possible < cpus.online {
            return Err(format!(
                "maxcpus={} is less than {}",
                cpus.possible, cpus.online
            ));
        }
        Ok(cpus)
    }
}

/// A port of the host's loopback that leads to a port of the guest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Forward {
    /// Port on 127.0.0.1 of the host.
    pub host: u16,
    /// Port on the guest's eth0.
    pub guest: u16,
}

impl FromStr for Forward {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let ports = text.split_once(':').and_then(|(host, guest)| {
            Some(Self {
                host: host.parse().ok()?,
                guest: guest.parse().ok()?,
            })
        });
        ports.ok_or_else(|| "expected HOSTPORT:GUESTPORT, two numbers up to 65535".into())
    }
}

/// QEMU's arguments for `guest`.
///
/// The kernel's messages go to the first serial port and from there to QEMU's standard error,
/// which must be a pipe; the command's output goes to the second and to standard output.
pub fn arguments(guest: &Guest, initramfs: &Path, token: &Token) -> Vec<String> {
    let mut arguments: Vec<String> = [
        "-nodefaults",
        "-no-user-config",
        "-no-reboot",
        "-display",
        "none",
        "-chardev",
        "file,id=kernel,path=/dev/stderr",
        "-serial",
        "chardev:kernel",
        "-chardev",
        "stdio,id=command,signal=off",
        "-serial",
        "chardev:command",
    ]
    .map(str::to_owned)
    .to_vec();
    let mut option = |name: &str, value: String| arguments.extend([name.to_owned(), value]);
    option("-cpu", guest.cpu.clone());
    if guest.icount {
        // One instruction is one nanosecond. The rotation of several processors never got
        // through a boot, so there is one.
        option("-accel", "tcg,thread=single".into());
        option("-icount", "shift=0,sleep=off".into());
        option("-smp", "1".into());
    } else {
        option("-accel", guest.accel.clone());
        option("-smp", guest.cpus.possible.to_string());
    }
    option("-m", guest.memory_mb.to_string());
    option("-netdev", network(&guest.forwards));
    // Without an option ROM: nobody boots from this card.
    option("-device", "virtio-net-pci,netdev=net0,romfile=".into());
    option("-kernel", guest.kernel.image.display().to_string());
    option("-initrd", initramfs.display().to_string());
    option("-append", command_line(guest, token));
    arguments
}

fn network(forwards: &[Forward]) -> String {
    let mut value = "user,id=net0".to_owned();
    for Forward { host, guest } in forwards {
        value += &format!(",hostfwd=tcp:127.0.0.1:{host}-:{guest}");
    }
    value
}

/// The kernel's command line. `panic=-1` with `-no-reboot` ends QEMU; `no_timer_check` spares the
/// kernel a test that a busy host makes it fail.
fn command_line(guest: &Guest, token: &Token) -> String {
    let base = "console=ttyS0 quiet panic=-1 oops=panic no_timer_check";
    let mut line = format!("{base} {}", token.parameter());
    if guest.cpus.online < guest.cpus.possible {
        // QEMU's own way, `-smp 2,maxcpus=8`, is lost on kernels that believe a processor which
        // the firmware calls disabled to be unusable (6.12.117, 7.3).
        line += &format!(" maxcpus={}", guest.cpus.online);
    }
    for parameter in &guest.append {
        line += " ";
        line += parameter;
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::Kernel;

    fn guest() -> Guest {
        let image = "/k/vmlinuz".into();
        let kernel = Kernel {
            name: "k".into(),
            release: "k".into(),
            image,
            modules: None,
        };
        Guest::new(kernel, "/init".into())
    }

    fn line(guest: &Guest) -> String {
        let token = Token::from_command_line("mapstorm.token=t").unwrap();
        arguments(guest, Path::new("/i"), &token).join(" ")
    }

    #[test]
    fn a_guest_has_four_processors_and_no_hypervisor() {
        let line = line(&guest());
        assert!(line.contains("-cpu max,-hypervisor"));
        assert!(line.contains("-accel tcg,thread=single -smp 4 -m 1024"));
        let seen = Guest {
            cpu: "max".into(),
            ..guest()
        };
        assert!(self::line(&seen).contains("-cpu max -accel"));
        assert!(line.ends_with(
            "-kernel /k/vmlinuz -initrd /i -append console=ttyS0 quiet panic=-1 oops=panic \
             no_timer_check mapstorm.token=t"
        ));
    }

    #[test]
    fn counting_instructions_takes_one_processor() {
        let line = line(&Guest {
            icount: true,
            ..guest()
        });
        assert!(line.contains("-accel tcg,thread=single -icount shift=0,sleep=off -smp 1 "));
    }

    #[test]
    fn ports_and_parameters_are_passed_on() {
        let forwards = vec!["18080:80".parse().unwrap()];
        let line = line(&Guest {
            forwards,
            append: vec!["possible_cpus=16".into()],
            ..guest()
        });
        assert!(line.contains("user,id=net0,hostfwd=tcp:127.0.0.1:18080-:80 "));
        assert!(line.ends_with("mapstorm.token=t possible_cpus=16"));
    }

    #[test]
    fn processors_and_ports_are_checked() {
        let roomy: Cpus = "2,maxcpus=8".parse().unwrap();
        assert_eq!((roomy.online, roomy.possible), (2, 8));
        let line = line(&Guest {
            cpus: roomy,
            ..guest()
        });
        assert!(
            line.contains("-smp 8 ") && line.ends_with(" maxcpus=2"),
            "{line}"
        );
        for wrong in ["0", "x", "4,maxcpus=2", "256"] {
            assert!(wrong.parse::<Cpus>().is_err(), "{wrong}");
        }
        for wrong in ["80", "80:", "80:70000"] {
            assert!(wrong.parse::<Forward>().is_err(), "{wrong}");
        }
    }
}
