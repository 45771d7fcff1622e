//! Decides whether output is coloured, and colours it.

use std::{
    env,
    fmt::{self, Display},
    io::{self, IsTerminal},
    sync::OnceLock,
};

use clap::{
    ColorChoice,
    builder::styling::{AnsiColor, Style},
};
use lith::format::file_type::FileType;

static CHOICE: OnceLock<ColorChoice> = OnceLock::new();

/// Red, for errors.
pub(crate) const BAD: Style = AnsiColor::Red.on_default().bold();
/// Green, for success.
pub(crate) const GOOD: Style = AnsiColor::Green.on_default().bold();

/// The style of a file's name, by its type.
pub(crate) const fn of_type(file_type: FileType) -> Style {
    match file_type {
        FileType::Regular => Style::new(),
        FileType::Directory => AnsiColor::Blue.on_default().bold(),
        FileType::Symlink => AnsiColor::Cyan.on_default().bold(),
        FileType::CharDevice | FileType::BlockDevice => AnsiColor::Yellow.on_default().bold(),
        FileType::Fifo => AnsiColor::Yellow.on_default(),
        FileType::Socket => AnsiColor::Magenta.on_default().bold(),
    }
}

/// Sets what the command line demands; only the first call has an effect.
pub(crate) fn choose(choice: ColorChoice) {
    let _ = CHOICE.set(choice);
}

/// Whether output to a stream is coloured.
pub(crate) fn is_wanted(stream: &impl IsTerminal) -> bool {
    let is_set = |name| env::var_os(name).is_some_and(|value| !value.is_empty());
    match CHOICE.get().copied().unwrap_or(ColorChoice::Auto) {
        ColorChoice::Always => true,
        ColorChoice::Never => false,
        ColorChoice::Auto => {
            let is_dumb = env::var_os("TERM").is_some_and(|term| term == "dumb");
            stream.is_terminal() && !is_set("NO_COLOR") && !is_dumb
        }
    }
}

/// A text for standard output in a colour, if that is wanted there.
pub(crate) fn painted<T: Display>(style: Style, text: T) -> Painted<T> {
    // Asked once, as there may be a million names.
    static IS_WANTED: OnceLock<bool> = OnceLock::new();
    let is_wanted = *IS_WANTED.get_or_init(|| is_wanted(&io::stdout()));
    let style = if is_wanted { style } else { Style::new() };
    Painted { style, text }
}

/// A text in a colour.
pub(crate) struct Painted<T> {
    pub(crate) style: Style,
    pub(crate) text: T,
}

impl<T: Display> Display for Painted<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}{:#}", self.style, self.text, self.style)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_without_style_is_unchanged() {
        assert_eq!(Painted { style: Style::new(), text: "a" }.to_string(), "a");
        assert_eq!(Painted { style: BAD, text: "a" }.to_string(), "\x1b[1m\x1b[31ma\x1b[0m");
    }
}
