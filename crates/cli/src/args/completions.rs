//! Defines the arguments of `lith completions`.

use clap_complete::Shell;

/// Print completions for a shell
#[derive(Debug, clap::Args)]
#[command(
    long_about = "Prints a script with which a shell completes this program's verbs and options.",
    after_long_help = "\
Examples:
  lith completions bash > /usr/share/bash-completion/completions/lith
  lith completions zsh > /usr/share/zsh/site-functions/_lith
  lith completions fish > ~/.config/fish/completions/lith.fish"
)]
pub(crate) struct Completions {
    /// The shell
    pub(crate) shell: Shell,
}
