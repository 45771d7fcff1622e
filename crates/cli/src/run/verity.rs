//! Makes and verifies hash trees (`lith verity`).

use std::{fs::File, io::Write, path::Path};

use anyhow::Context;
use lith::{
    device::{FileDevice, OffsetDevice, ReadAt},
    verity::{
        self, HashTree, SuperblockError, TreePlace, VerityError, check_signature, find_appended,
        fsverity_digest, image_bytes, read_superblock,
    },
};

use super::{device, subject, verified};
use crate::{
    args::{
        MessageArgs,
        verity::{Action, Add, Fsverity, Info, Verify, Verity},
    },
    exit::Outcome,
    output::{
        self, error::Place, hash_tree::HashTreeRecord, json, signals::remove_files_on_signals,
    },
};

pub(crate) fn run(request: &Verity, messages: MessageArgs) -> anyhow::Result<Outcome> {
    match &request.action {
        Action::Add(request) => add(request),
        Action::Verify(request) => verify(request, messages),
        Action::Info(request) => info(request),
        Action::Fsverity(request) => fsverity(request),
    }
}

fn add(request: &Add) -> anyhow::Result<Outcome> {
    let protection = request.protection.protection(Some(TreePlace::Append));
    let protection = protection.map_err(anyhow::Error::msg)?;
    let protection = protection.context("there is a default place for the hash tree")?;
    device::refuse_other_file(&request.image, request.offset.0)?;
    remove_files_on_signals();
    let image = (&*request.image, request.offset.0);
    let made = verity::protect(image, &protection, request.workers.count());
    let made = made.map_err(|error| about(&request.image, error))?;
    let HashTree { root, superblock, hash_offset, .. } = made;
    write(&HashTreeRecord::new(&superblock, hash_offset, Some(root)), request.json)
}

/// An error, preceded by the image's path unless it names a path itself.
fn about(image: &Path, error: lith::Error) -> anyhow::Error {
    let names_a_path = error.path().is_some();
    let error = anyhow::Error::new(error);
    if names_a_path { error } else { error.context(Place(image).to_string()) }
}

fn verify(request: &Verify, messages: MessageArgs) -> anyhow::Result<Outcome> {
    let location = request.image.location();
    let place = || Place(location.path).to_string();
    let trust = location.trust.as_ref().context("--root-hash is required")?;
    if let (Some(cert), Some(signature)) = (&request.cert, &request.signature) {
        check_signature(trust.root, signature, cert)
            .with_context(|| Place(signature).to_string())?;
    }
    let device = verified::open(&location, trust)?;
    device.verify(request.workers.count()).with_context(place)?;
    // Its bases are compared when they are opened.
    drop(subject::open_all(&location)?);
    let mut output = output::stdout()?;
    if !messages.quiet {
        let signed = if request.cert.is_some() { ", signed" } else { "" };
        writeln!(output, "{}: verified{signed}, root hash {}", place(), trust.root)?;
    }
    output::finish(output)
}

fn info(request: &Info) -> anyhow::Result<Outcome> {
    let path = request.verity.as_deref().unwrap_or(&request.image);
    let place = || Place(path).to_string();
    let device = OffsetDevice::new(device::open(path)?, request.offset.0);
    let given = request.hash_offset.map(|offset| offset.0);
    let offset = match (given, &request.verity) {
        (Some(offset), _) => offset,
        (None, Some(_)) => 0,
        (None, None) => {
            device::refuse_other(path, &device::start(path, &device)?)?;
            appended(&device).with_context(place)?
        }
    };
    let superblock = read_superblock(&device, offset).with_context(place)?;
    write(&HashTreeRecord::new(&superblock, offset, None), request.json)
}

fn appended(device: &dyn ReadAt) -> anyhow::Result<u64> {
    let found = find_appended(device, image_bytes(device)?)?;
    Ok(found.ok_or(VerityError::Superblock(SuperblockError::Missing))?)
}

fn write(record: &HashTreeRecord, as_json: bool) -> anyhow::Result<Outcome> {
    let mut output = output::stdout()?;
    if as_json {
        json::write_pretty(&mut output, record)?;
    } else {
        record.write_text(&mut output)?;
    }
    output::finish(output)
}

fn fsverity(request: &Fsverity) -> anyhow::Result<Outcome> {
    let mut output = output::stdout()?;
    for path in &request.files {
        let digest = File::open(path).and_then(FileDevice::new).map_err(anyhow::Error::new);
        let digest = digest.and_then(|file| Ok(fsverity_digest(&file, request.workers.count())?));
        let digest = digest.with_context(|| Place(path).to_string())?;
        writeln!(output, "sha256:{} {}", hex::encode(digest), Place(path))?;
    }
    output::finish(output)
}
