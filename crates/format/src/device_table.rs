//! Defines the device table, and maps unified addresses to devices.

use alloc::vec::Vec;

use zerocopy::{
    FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned,
    little_endian::{U16, U32},
};

use crate::{
    addr::{Blkaddr, BlockBits, Pa},
    halves::{hi16, join, lo32},
};

/// Bytes in a slot of the device table.
pub const DEVICE_SLOT_SIZE: usize = 128;

/// `erofs_deviceslot`.
#[derive(FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned, Clone, Copy, Debug)]
#[repr(C)]
struct RawSlot {
    tag: [u8; 64],

    blocks_lo: U32,
    uniaddr_lo: U32,
    blocks_hi: U16,
    uniaddr_hi: U16,
    reserved: [u8; 52],
}
const _: () = assert!(size_of::<RawSlot>() == DEVICE_SLOT_SIZE);

/// A device beside the primary one.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DeviceSlot {
    /// What identifies the device, padded by NULs; see [`Self::tag`].
    pub raw_tag: [u8; 64],
    /// How many blocks it has.
    pub blocks: u64,
    /// Its first block in the unified address space; 0 if it has no place there.
    pub uniaddr: Blkaddr,
}

/// Why the device table can't be used, or can't be written.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DeviceError {
    /// A slot's bytes are missing.
    #[error("{found} bytes are too few for {count} device slots")]
    Truncated {
        /// Bytes at hand.
        found: usize,
        /// Slots announced.
        count: u16,
    },
    /// A reference names a device that the table doesn't have.
    #[error("device {device} is not among the {count} extra devices")]
    NoSuchDevice {
        /// The device.
        device: u16,
        /// How many extra devices there are.
        count: usize,
    },
    /// An address is beyond 64 bits.
    #[error("address {pa} of device {device} overflows")]
    Overflow {
        /// The device.
        device: u16,
        /// The byte address on it.
        pa: Pa,
    },
    /// A slot's field can't be expressed with these features.
    #[error("a device's {field} {found} can't be stored")]
    Field {
        /// The field's name in the format.
        field: &'static str,
        /// Its value.
        found: u64,
    },
}

impl DeviceSlot {
    /// Reads `count` slots from the start of `bytes`; `wide`: the image has 48-bit addresses.
    ///
    /// # Errors
    /// There are fewer bytes than that.
    pub fn parse_all(bytes: &[u8], count: u16, wide: bool) -> Result<Vec<Self>, DeviceError> {
        let truncated = DeviceError::Truncated { found: bytes.len(), count };
        let (slots, _) = <[RawSlot]>::ref_from_prefix_with_elems(bytes, count.into())
            .map_err(|_unsized| truncated)?;
        Ok(slots.iter().map(|raw| Self::from_raw(raw, wide)).collect())
    }

    fn from_raw(raw: &RawSlot, wide: bool) -> Self {
        let hi = |half: U16| if wide { half.get() } else { 0 };
        Self {
            raw_tag: raw.tag,
            blocks: join(hi(raw.blocks_hi), raw.blocks_lo.get()),
            uniaddr: Blkaddr(join(hi(raw.uniaddr_hi), raw.uniaddr_lo.get())),
        }
    }

    /// Appends the slot; `wide`: the image has 48-bit addresses.
    ///
    /// # Errors
    /// A number has more bits than the image allows.
    pub fn encode_into(&self, wide: bool, out: &mut Vec<u8>) -> Result<(), DeviceError> {
        fits("blocks", self.blocks, wide)?;
        fits("uniaddr", self.uniaddr.0, wide)?;
        let raw = RawSlot {
            tag: self.raw_tag,
            blocks_lo: lo32(self.blocks).into(),
            uniaddr_lo: lo32(self.uniaddr.0).into(),
            blocks_hi: hi16(self.blocks).into(),
            uniaddr_hi: hi16(self.uniaddr.0).into(),
            reserved: [0; 52],
        };
        out.extend_from_slice(raw.as_bytes());
        Ok(())
    }

    /// The tag without its padding.
    #[must_use]
    pub fn tag(&self) -> &[u8] {
        self.raw_tag.split(|byte| *byte == 0).next().unwrap_or_default()
    }

    /// Where `pa` of the unified address space is on this device, if it is.
    fn within(&self, pa: Pa, block: BlockBits) -> Option<Pa> {
        if self.uniaddr.0 == 0 {
            return None;
        }
        let relative = pa.0.checked_sub(self.uniaddr.to_pa(block)?.0)?;
        (relative >> block.bits() < self.blocks).then_some(Pa(relative))
    }
}

fn fits(field: &'static str, found: u64, wide: bool) -> Result<(), DeviceError> {
    if found >> if wide { 48 } else { 32 } == 0 {
        return Ok(());
    }
    Err(DeviceError::Field { field, found })
}

/// All devices of an image: how references to blocks become places on devices.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DeviceMap {
    /// The block size.
    pub block: BlockBits,
    /// The extra devices; device 1 comes first.
    pub slots: Vec<DeviceSlot>,
    /// Whether the primary device holds all of them, consecutively (flat mode).
    pub flat: bool,
}

/// A byte's place on a device.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DevicePa {
    /// The device; 0 is the primary one.
    pub device: u16,
    /// The byte position on it.
    pub pa: Pa,
}

impl DeviceMap {
    /// The bits of a device id that count.
    #[must_use]
    pub fn mask(&self) -> u16 {
        let ids = self.slots.len().saturating_add(1).next_power_of_two();
        // With more devices than ids can name, those beyond are out of reach.
        u16::try_from(ids - 1).unwrap_or(u16::MAX)
    }

    /// Where byte `pa` of `device` is stored. Device 0 is the unified address space, so the byte
    /// may be on any device.
    ///
    /// # Errors
    /// There is no such device, or the address overflows.
    pub fn resolve(&self, device: u16, pa: Pa) -> Result<DevicePa, DeviceError> {
        let device = device & self.mask();
        let Some(index) = device.checked_sub(1) else {
            return Ok(self.resolve_unified(pa));
        };
        let missing = DeviceError::NoSuchDevice { device, count: self.slots.len() };
        let slot = self.slots.get(usize::from(index)).ok_or(missing)?;
        if !self.flat {
            return Ok(DevicePa { device, pa });
        }
        let start = slot.uniaddr.to_pa(self.block);
        let flat = start.and_then(|start| start.checked_add(pa.0));
        let pa = flat.ok_or(DeviceError::Overflow { device, pa })?;
        Ok(DevicePa { device: 0, pa })
    }

    fn resolve_unified(&self, pa: Pa) -> DevicePa {
        let on_primary = DevicePa { device: 0, pa };
        if self.flat {
            return on_primary;
        }
        let found = self.slots.iter().zip(1..).find_map(|(slot, device)| {
            slot.within(pa, self.block).map(|pa| DevicePa { device, pa })
        });
        found.unwrap_or(on_primary)
    }
}

#[cfg(test)]
mod tests {
    use std::vec;

    use proptest::prelude::*;

    use super::*;

    fn slot(blocks: u64, uniaddr: u64) -> DeviceSlot {
        DeviceSlot { raw_tag: [0; 64], blocks, uniaddr: Blkaddr(uniaddr) }
    }

    fn map(flat: bool) -> DeviceMap {
        let slots = vec![slot(10, 100), slot(20, 110)];
        DeviceMap { block: BlockBits::DEFAULT, slots, flat }
    }

    fn resolved(map: &DeviceMap, device: u16, block: u64) -> (u16, u64) {
        let place = map.resolve(device, Pa(block * 4096 + 5)).unwrap();
        assert_eq!(place.pa.0 % 4096, 5);
        (place.device, place.pa.0 / 4096)
    }

    #[test]
    fn unified_addresses_lie_on_any_device() {
        let map = map(false);
        assert_eq!(resolved(&map, 0, 99), (0, 99));
        assert_eq!(resolved(&map, 0, 100), (1, 0));
        assert_eq!(resolved(&map, 0, 109), (1, 9));
        assert_eq!(resolved(&map, 0, 110), (2, 0));
        assert_eq!(resolved(&map, 0, 129), (2, 19));
        assert_eq!(resolved(&map, 0, 130), (0, 130));
        assert_eq!(resolved(&map, 2, 7), (2, 7));
    }

    #[test]
    fn flat_images_have_all_on_the_primary_device() {
        let map = map(true);
        assert_eq!(resolved(&map, 0, 105), (0, 105));
        assert_eq!(resolved(&map, 1, 3), (0, 103));
        assert_eq!(resolved(&map, 2, 3), (0, 113));
        let far = map.resolve(2, Pa(u64::MAX));
        assert_eq!(far, Err(DeviceError::Overflow { device: 2, pa: Pa(u64::MAX) }));
    }

    #[test]
    fn device_ids_are_masked_before_use() {
        let map = map(false);
        assert_eq!(map.mask(), 3);
        assert_eq!(resolved(&map, 0xab02, 7), (2, 7));
        assert_eq!(resolved(&map, 0xab00, 100), (1, 0));
        let missing = map.resolve(3, Pa(0));
        assert_eq!(missing, Err(DeviceError::NoSuchDevice { device: 3, count: 2 }));
    }

    #[test]
    fn masks_cover_all_slots() {
        let mask = |count| {
            DeviceMap { block: BlockBits::DEFAULT, slots: vec![slot(0, 0); count], flat: false }
                .mask()
        };
        assert_eq!([0, 1, 2, 3, 4].map(mask), [0, 1, 3, 3, 7]);
        assert_eq!(mask(65535), 65535);
    }

    #[test]
    fn devices_without_a_place_and_absurd_ones_hold_nothing() {
        let slots = vec![slot(u64::MAX, 0), slot(5, u64::MAX)];
        let map = DeviceMap { block: BlockBits::DEFAULT, slots, flat: false };
        assert_eq!(resolved(&map, 0, 3), (0, 3));
    }

    #[test]
    fn without_48_bits_the_high_halves_do_not_count() {
        let mut bytes = vec![];
        let wide = DeviceSlot { raw_tag: [b'a'; 64], ..slot(1 << 40 | 7, 3 << 32 | 9) };
        wide.encode_into(true, &mut bytes).unwrap();
        assert_eq!(DeviceSlot::parse_all(&bytes, 1, true).unwrap(), core::slice::from_ref(&wide));
        let narrow = DeviceSlot { raw_tag: [b'a'; 64], ..slot(7, 9) };
        assert_eq!(DeviceSlot::parse_all(&bytes, 1, false).unwrap(), [narrow]);
        let error = wide.encode_into(false, &mut bytes).unwrap_err();
        assert_eq!(error, DeviceError::Field { field: "blocks", found: 1 << 40 | 7 });
        let cut = DeviceSlot::parse_all(&bytes, 2, true).unwrap_err();
        assert_eq!(cut, DeviceError::Truncated { found: 128, count: 2 });
    }

    #[test]
    fn tags_end_at_the_first_nul() {
        let mut tagged = slot(1, 1);
        tagged.raw_tag[..4].copy_from_slice(b"blob");
        assert_eq!(tagged.tag(), b"blob");
        assert_eq!(slot(1, 1).tag(), b"");
    }

    proptest! {
        #[test]
        fn slots_come_back(tag: [u8; 32], blocks: u64, uniaddr: u64, wide: bool) {
            let bits = if wide { 16 } else { 32 };
            let mut slot = slot(blocks >> bits, uniaddr >> bits);
            slot.raw_tag[..32].copy_from_slice(&tag);
            let mut bytes = vec![];
            slot.encode_into(wide, &mut bytes).unwrap();
            prop_assert_eq!(bytes.len(), DEVICE_SLOT_SIZE);
            prop_assert_eq!(DeviceSlot::parse_all(&bytes, 1, wide).unwrap(), [slot]);
        }

        #[test]
        fn any_reference_is_resolved_or_refused(
            numbers in proptest::collection::vec(any::<(u64, u64)>(), 0..9),
            device: u16, pa: u64, flat: bool,
        ) {
            let slots = numbers.into_iter().map(|(blocks, uniaddr)| slot(blocks, uniaddr)).collect();
            let map = DeviceMap { block: BlockBits::DEFAULT, slots, flat };
            if let Ok(place) = map.resolve(device, Pa(pa)) {
                prop_assert!(usize::from(place.device) <= map.slots.len());
            }
        }
    }
}
