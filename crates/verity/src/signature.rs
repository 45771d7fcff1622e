//! Signs root hashes, as detached PKCS#7 over their 64 digits.
//!
//! That is what the kernel takes with `root_hash_sig_key_desc` and systemd as `.roothash.p7s`. The program openssl(1) signs and
//! checks, as its documentation and systemd's tools have it, so that keys may also be on tokens and behind providers.

use std::{
    io::{self, Write},
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
};

use crate::RootHash;

/// Who signs.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Signer {
    /// A private key and its certificate, as openssl(1) takes them: files in PEM.
    Key {
        /// The private key.
        key: PathBuf,
        /// The certificate.
        cert: PathBuf,
    },
    /// A command of the shell that gets the digits on standard input and writes the signature, as DER, to standard output.
    Command(String),
}

/// Why a root hash can't be signed, or its signature isn't valid.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SignError {
    /// A program can't be run.
    #[error("cannot run {program}")]
    Run {
        /// Its name.
        program: String,
        /// The error of the operating system.
        source: io::Error,
    },
    /// It failed.
    #[error("{program} failed: {message}")]
    Failed {
        /// Its name.
        program: String,
        /// What it printed.
        message: String,
    },
    /// A command wrote something else than a signature.
    #[error("the command wrote no PKCS#7 signature in DER")]
    NoSignature,
    /// The signature is not one of this root hash by this certificate.
    #[error("the signature is not valid for this root hash and certificate: {0}")]
    Invalid(String),
}

/// A detached PKCS#7 signature, in DER.
///
/// # Errors
/// [`SignError`] if the program fails, or gives something else.
pub fn sign(root: RootHash, signer: &Signer) -> Result<Vec<u8>, SignError> {
    const FORM: [&str; 7] = ["smime", "-sign", "-binary", "-noattr", "-nocerts", "-outform", "DER"];
    let (program, mut command) = match signer {
        Signer::Key { key, cert } => {
            let mut command = Command::new("openssl");
            command.args(FORM).arg("-inkey").arg(key).arg("-signer").arg(cert);
            ("openssl", command)
        }
        Signer::Command(line) => {
            let mut command = Command::new("/bin/sh");
            command.args(["-c", line]);
            (&**line, command)
        }
    };
    let output = run(program, &mut command, root)?;
    if !output.status.success() {
        return Err(SignError::Failed { program: program.to_owned(), message: message(&output) });
    }
    // A SEQUENCE of a length that needs bytes of its own, as any signature does.
    match *output.stdout {
        [0x30, 0x80..=0xff, ..] => Ok(output.stdout),
        _ => Err(SignError::NoSignature),
    }
}

/// Checks that a file is a signature of a root hash by the key of a certificate, which is trusted as it is.
///
/// # Errors
/// [`SignError::Invalid`] if it isn't, or [`SignError::Run`].
pub fn check_signature(root: RootHash, signature: &Path, cert: &Path) -> Result<(), SignError> {
    let mut command = Command::new("openssl");
    command.args(["smime", "-verify", "-binary", "-inform", "DER", "-content", "/dev/stdin"]);
    command.args(["-nointern", "-noverify", "-certfile"]).arg(cert).arg("-in").arg(signature);
    let output = run("openssl", &mut command, root)?;
    if output.status.success() { Ok(()) } else { Err(SignError::Invalid(message(&output))) }
}

fn run(program: &str, command: &mut Command, root: RootHash) -> Result<Output, SignError> {
    let mut run = || {
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn()?;
        if let Some(mut input) = child.stdin.take() {
            // The digits fit a pipe. Who closes it without reading them fails, or doesn't sign them.
            let _ = input.write_all(root.to_string().as_bytes());
        }
        child.wait_with_output()
    };
    run().map_err(|source| SignError::Run { program: program.to_owned(), source })
}

/// The first line that a program printed on standard error and that says something.
fn message(output: &Output) -> String {
    let text = String::from_utf8_lossy(&output.stderr);
    let line = text.lines().map(str::trim).find(|line| !line.is_empty());
    line.map_or_else(|| output.status.to_string(), ToOwned::to_owned)
}
