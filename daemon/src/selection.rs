//! Which maps are published one by one: `--maps.include` and `--maps.exclude`. The only user of
//! `regex`.

use regex::Regex;

/// A regular expression that a map's whole name matches or not.
#[derive(Clone, Debug)]
pub struct Pattern {
    text: String,
    regex: Regex,
}

/// The maps that are published one by one; all of them by default.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Selection {
    /// Only maps with such a name; `None` for any.
    pub include: Option<Pattern>,
    /// But none with such a name, included or not.
    pub exclude: Option<Pattern>,
}

impl Pattern {
    /// A pattern for whole names, as label matchers of Prometheus are.
    ///
    /// # Errors
    /// What is wrong with the expression, in words.
    pub fn new(text: &str) -> Result<Self, String> {
        // Alone first: a group around it could close what it leaves open.
        Regex::new(text).map_err(|error| error.to_string())?;
        let regex = Regex::new(&format!("^(?:{text})$")).map_err(|error| error.to_string())?;
        let text = text.to_owned();
        Ok(Self { text, regex })
    }
}

impl PartialEq for Pattern {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl Eq for Pattern {}

impl Selection {
    /// Is a map of this name, as the label has it, published?
    pub fn shows(&self, name: &str) -> bool {
        let matches = |pattern: &Pattern| pattern.regex.is_match(name);
        self.include.as_ref().is_none_or(matches) && !self.exclude.as_ref().is_some_and(matches)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn selection(include: Option<&str>, exclude: Option<&str>) -> Selection {
        let pattern = |text| Pattern::new(text).unwrap();
        Selection {
            include: include.map(pattern),
            exclude: exclude.map(pattern),
        }
    }

    #[test]
    fn whole_names_are_matched_and_exclusion_wins() {
        assert!(Selection::default().shows("anything"));
        let some = selection(Some("cilium_.*|flows"), Some("cilium_ct.*"));
        for (name, shown) in [
            ("flows", true),
            ("flows2", false),
            ("cilium_lb", true),
            ("cilium_ct4", false),
            ("", false),
        ] {
            assert_eq!(some.shows(name), shown, "{name}");
        }
        assert!(!selection(None, Some("")).shows(""));
    }

    #[test]
    fn what_is_no_expression_is_told() {
        assert!(Pattern::new("a(").unwrap_err().contains("unclosed group"));
        assert!(Pattern::new("a)|(b").is_err());
    }
}
