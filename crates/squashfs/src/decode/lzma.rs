//! Decodes .xz and .lzma files.

use liblzma::stream::{Action, Status, Stream};

use crate::limits;

/// The number of decoded bytes of a whole .xz file, if it is sound and they fit.
pub(super) fn decode_xz(input: &[u8], output: &mut [u8]) -> Option<usize> {
    let stream = Stream::new_stream_decoder(limits::LZMA_MEMORY, 0).ok()?;
    run(stream, input, output)
}

/// The same of a .lzma file.
pub(super) fn decode_lzma(input: &[u8], output: &mut [u8]) -> Option<usize> {
    run(Stream::new_lzma_decoder(limits::LZMA_MEMORY).ok()?, input, output)
}

fn run(mut stream: Stream, input: &[u8], output: &mut [u8]) -> Option<usize> {
    loop {
        let (read, written) = (stream.total_in(), stream.total_out());
        let rest = input.get(usize::try_from(read).ok()?..)?;
        let room = output.get_mut(usize::try_from(written).ok()?..)?;
        let status = stream.process(rest, room, Action::Finish).ok()?;
        if status == Status::StreamEnd {
            return usize::try_from(stream.total_out()).ok();
        }
        if (stream.total_in(), stream.total_out()) == (read, written) {
            return None;
        }
    }
}
