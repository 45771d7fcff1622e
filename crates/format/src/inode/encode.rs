//! Writes inodes.

use alloc::vec::Vec;

use zerocopy::{IntoBytes, little_endian::U32};

use super::{
    Inode, InodeContext, InodeData, InodeEncodeError, InodeForm, NLINK_1_OR_DOT_OMITTED,
    NO_ADDRESS_HI, NO_ADDRESS_LO, is_no_address,
    raw::{EXTENDED, RawCompact, RawExtended},
};
use crate::{
    file_type::FileType,
    halves::{hi16, join, lo32},
};

impl Inode {
    /// The smallest form that can hold this inode, whatever [`Self::form`] is now.
    ///
    /// A compact inode can't hold a size of 4 GiB or more, an owner, group or number of links above
    /// 65535, a time that differs from the epoch's (or with 48-bit addresses is too far from it),
    /// nor an address above 32 bits of a directory or a file of several links.
    #[must_use]
    pub fn smallest_form(&self, context: &InodeContext) -> InodeForm {
        if self.compact(context).is_ok() { InodeForm::Compact } else { InodeForm::Extended }
    }

    /// Appends the inode in its [`Self::form`], of [`Self::size_on_disk`] bytes.
    ///
    /// # Errors
    /// A field has no place in this form, or the data doesn't suit layout and mode.
    pub fn encode_into(
        &self,
        context: &InodeContext,
        out: &mut Vec<u8>,
    ) -> Result<(), InodeEncodeError> {
        self.check()?;
        match self.form {
            InodeForm::Compact => out.extend_from_slice(self.compact(context)?.as_bytes()),
            InodeForm::Extended => out.extend_from_slice(self.extended(context)?.as_bytes()),
        }
        Ok(())
    }

    fn check(&self) -> Result<(), InodeEncodeError> {
        let kind = FileType::from_mode(self.mode)?;
        let suits = match self.data {
            InodeData::Device(_) => kind.is_device(),
            InodeData::None => !kind.is_device() && !kind.has_content(),
            InodeData::Blocks { .. } => kind.has_content() && self.layout.is_flat(),
            InodeData::Compressed { .. } => kind.has_content() && self.layout.is_compressed(),
            InodeData::Chunked(_) => {
                kind.has_content() && !self.layout.is_flat() && !self.layout.is_compressed()
            }
        };
        if suits && kind == self.file_type {
            return Ok(());
        }
        Err(InodeEncodeError::Mismatch { mode: self.mode, layout: self.layout.to_raw() })
    }

    fn compact(&self, context: &InodeContext) -> Result<RawCompact, InodeEncodeError> {
        let (u, hi) = self.address(InodeForm::Compact, 0)?;
        let nlink = narrow(InodeForm::Compact, "i_nlink", self.nlink)?;
        // Bit 4 makes room for the high half of an address, at the cost of the number of links.
        let wide = hi != 0;
        if wide && (self.nlink != 1 || self.file_type == FileType::Directory) {
            return Err(field(InodeForm::Compact, "i_nb", hi.into()));
        }
        Ok(RawCompact {
            format: self.format(InodeForm::Compact, wide || self.dot_omitted).into(),
            xattr_icount: self.xattr_icount.into(),
            mode: self.mode.into(),
            nb: if wide { hi } else { nlink }.into(),
            size: narrow::<_, u32>(InodeForm::Compact, "i_size", self.size)?.into(),
            mtime: self.compact_mtime(context)?.into(),
            u,
            ino: self.ino.into(),
            uid: narrow::<_, u16>(InodeForm::Compact, "i_uid", self.uid)?.into(),
            gid: narrow::<_, u16>(InodeForm::Compact, "i_gid", self.gid)?.into(),
            reserved: U32::ZERO,
        })
    }

    fn extended(&self, context: &InodeContext) -> Result<RawExtended, InodeEncodeError> {
        let no_address_hi = if context.wide { NO_ADDRESS_HI } else { 0 };
        let (u, hi) = self.address(InodeForm::Extended, no_address_hi)?;
        if self.size > i64::MAX.unsigned_abs() {
            return Err(field(InodeForm::Extended, "i_size", self.size));
        }
        Ok(RawExtended {
            format: self.format(InodeForm::Extended, self.dot_omitted).into(),
            xattr_icount: self.xattr_icount.into(),
            mode: self.mode.into(),
            nb: hi.into(),
            size: self.size.into(),
            u,
            ino: self.ino.into(),
            uid: self.uid.into(),
            gid: self.gid.into(),
            mtime: self.mtime.into(),
            mtime_nsec: self.mtime_nsec.into(),
            nlink: self.nlink.into(),
            reserved: [0; 16],
        })
    }

    fn format(&self, form: InodeForm, flag: bool) -> u16 {
        let extended = if form == InodeForm::Extended { EXTENDED } else { 0 };
        let flag = if flag { NLINK_1_OR_DOT_OMITTED } else { 0 };
        extended | u16::from(self.layout.to_raw()) << 1 | flag
    }

    /// `i_mtime` of a compact inode. Without 48-bit addresses old kernels take it for 0.
    fn compact_mtime(&self, context: &InodeContext) -> Result<u32, InodeEncodeError> {
        if self.mtime_nsec != context.fixed_nsec {
            return Err(field(InodeForm::Compact, "i_mtime_nsec", self.mtime_nsec.into()));
        }
        let most = if context.wide { u32::MAX } else { 0 };
        let offset = self.mtime.checked_sub(context.epoch).and_then(|o| u32::try_from(o).ok());
        let too_far = field(InodeForm::Compact, "i_mtime", self.mtime.cast_unsigned());
        offset.filter(|offset| *offset <= most).ok_or(too_far)
    }

    /// `i_u` and its high half.
    fn address(&self, form: InodeForm, no_address_hi: u16) -> Result<(U32, u16), InodeEncodeError> {
        let wide = match self.data {
            InodeData::Blocks { start: None } => join(no_address_hi, NO_ADDRESS_LO),
            InodeData::Blocks { start: Some(start) } if is_no_address(start.0, no_address_hi) => {
                return Err(field(form, "i_u", start.0));
            }
            InodeData::Blocks { start: Some(start) } => start.0,
            InodeData::Compressed { blocks } => blocks,
            InodeData::Chunked(format) => format.to_raw().into(),
            InodeData::Device(rdev) => {
                let raw = rdev.to_raw();
                let found = u64::from(rdev.major) << 32 | u64::from(rdev.minor);
                raw.ok_or(field(form, "rdev", found))?.into()
            }
            InodeData::None => 0,
        };
        if wide >> 48 != 0 {
            return Err(field(form, "i_u", wide));
        }
        Ok((lo32(wide).into(), hi16(wide)))
    }
}

fn field(form: InodeForm, field: &'static str, found: u64) -> InodeEncodeError {
    InodeEncodeError::Field { form, field, found }
}

fn narrow<T: Copy + Into<u64>, U: TryFrom<T>>(
    form: InodeForm,
    name: &'static str,
    value: T,
) -> Result<U, InodeEncodeError> {
    U::try_from(value).map_err(|_too_large| field(form, name, value.into()))
}
