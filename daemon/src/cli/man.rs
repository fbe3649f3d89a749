//! Man pages, one for each command, from the same definition that parses.

use clap::{Command, CommandFactory as _};
use clap_mangen::Man;

use super::args::Args;

/// Where a page says that it comes from.
const SOURCE: &str = concat!("mapstorm ", env!("CARGO_PKG_VERSION"));

/// File name and text of each page.
pub(super) fn pages() -> Vec<(String, String)> {
    let mut command = Args::command();
    command.build();
    let mut pages = Vec::new();
    collect(&command, &[], &mut pages);
    pages
}

/// The page of a command that is called by the words of its `parents` before its own, and those of its commands.
fn collect(command: &Command, parents: &[&str], pages: &mut Vec<(String, String)>) {
    let words = [parents, &[command.get_name()]].concat();
    let name = words.join("-");
    let page = command.clone().name(name.clone()).bin_name(words.join(" "));
    let mut text = Vec::new();
    // Writing to memory does not fail.
    let _written = Man::new(page).source(SOURCE).render(&mut text);
    let text = String::from_utf8_lossy(&text).into_owned();
    pages.push((format!("{name}.1"), text));
    let commands = command.get_subcommands();
    for command in commands.filter(|command| command.get_name() != "help") {
        collect(command, &words, pages);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_has_a_page_with_its_flags_and_examples() {
        let pages = pages();
        let names: Vec<_> = pages.iter().map(|(name, _)| &**name).collect();
        for name in [
            "mapstorm.1",
            "mapstorm-serve.1",
            "mapstorm-doctor.1",
            "mapstorm-maps.1",
            "mapstorm-top.1",
            "mapstorm-drill.1",
            "mapstorm-drill-hot-bucket.1",
            "mapstorm-completions.1",
            "mapstorm-man.1",
        ] {
            assert!(names.contains(&name), "{name} of {names:?}");
        }
        assert!(!names.iter().any(|name| name.contains("help")), "{names:?}");
        let text = |name| &pages.iter().find(|(page, _)| page == name).unwrap().1;
        let serve = text("mapstorm-serve.1");
        for words in [
            ".TH mapstorm-serve 1",
            "sample\\-interval",
            "MAPSTORM_SAMPLE_INTERVAL",
        ] {
            assert!(serve.contains(words), "{words}: {serve}");
        }
        let synopsis = "\\fBmapstorm drill hot\\-bucket\\fR [";
        let page = text("mapstorm-drill-hot-bucket.1");
        assert!(page.contains(synopsis), "{page}");
    }
}
