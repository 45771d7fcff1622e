//! Joins and splits the low and high halves of wide on-disk numbers.

/// Joins the low 32 bits with the high 16 bits of a 48-bit number.
pub(crate) const fn join(hi: u16, lo: u32) -> u64 {
    (hi as u64) << 32 | lo as u64
}

/// The low 32 bits of `wide`.
#[expect(clippy::cast_possible_truncation, reason = "the low half is what is requested")]
pub(crate) const fn lo32(wide: u64) -> u32 {
    wide as u32
}

/// Bits 32 to 47 of `wide`.
pub(crate) const fn hi16(wide: u64) -> u16 {
    (wide >> 32 & 0xffff) as u16
}
