//! Where are the bytes of files stored, and how are they found again? Makes [`StoredFiles`]: compresses, writes blocks and
//! index tables, and decides nothing about order.

mod allocator;
mod around;
mod chunks;
mod copier;
mod encoders;
mod equal;
mod files;
mod fragments;
mod hot;
mod index;
mod large;
mod layouts;
mod pclusters;
mod piece;
mod spool;
mod stored;
mod tables;
mod tail;
mod unread;
mod worker;
mod writer;

pub(crate) use self::{
    files::{FileData, FileTable},
    fragments::{PackedParts, refer_to_fragments},
    hot::store_hot,
    stored::{Destination, StoredFiles},
    tail::Tail,
};
use self::{
    layouts::Layouts,
    piece::{Forms, Spare},
    worker::{Compressor, Shared},
    writer::Writer,
};
use crate::{
    BuildError,
    pieces::Batches,
    pipeline::{Room, in_order},
    plan::Geometry,
    scan::Analysis,
};

/// Stores the content of the files that `analysis` names, from the next free block on, in addition to what is `stored`
/// already.
///
/// # Errors
/// [`BuildError`] if the source can't be read, or has changed, or the image can't be written.
pub(crate) fn store<'a>(
    geometry: Geometry<'a>,
    analysis: &'a Analysis<'a>,
    destination: Destination<'a>,
    stored: StoredFiles,
) -> Result<StoredFiles, BuildError> {
    let Geometry { input, plan } = geometry;
    let context = destination.context;
    let layouts = &Layouts::new(&analysis.repeats);
    let mut writer = Writer::new(geometry, analysis, destination, layouts, stored);
    writer.store_unread()?;
    let order = analysis.in_blocks();
    let room = Room::new(context, plan.compresses(), plan.options.encoder_memory());
    let spare = &Spare::new(room.most_bytes / 2);
    let mut batches = Batches::new(input, &order, Forms { geometry, analysis });
    let parts = &analysis.parts;
    let worker = || Compressor::new(Shared { geometry, layouts, parts, context, spare });
    in_order(
        (room, context),
        worker,
        || batches.next(),
        |done| {
            let bytes = done.bytes();
            writer.write(&done.pieces, done.outcomes, &done.blocks)?;
            spare.keep(done.blocks);
            context.observer.advance(bytes);
            Ok(())
        },
    )?;
    Ok(writer.finish())
}
