//! Formats extents as text and JSON.

use std::{borrow::Cow, fmt};

use lith::reader::{Extent, ExtentKind, Place, Space};
use serde::Serialize;

/// An extent; all numbers are bytes.
#[derive(Debug, Serialize)]
pub(crate) struct ExtentRecord {
    /// Its start in the file.
    logical: u64,
    /// Its length in the file.
    length: u64,
    /// Its start on the device; `None`: it is not stored.
    #[serde(skip_serializing_if = "Option::is_none")]
    physical: Option<u64>,
    /// Its length on the device.
    stored: u64,
    kind: &'static str,
    #[serde(skip_serializing_if = "is_false")]
    partial: bool,
    #[serde(skip_serializing_if = "is_false")]
    interlaced: bool,
    /// What `physical` is relative to: a device, by its number, `metabox` or `packed`.
    #[serde(skip_serializing_if = "Option::is_none")]
    device: Option<Cow<'static, str>>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
const fn is_false(flag: &bool) -> bool {
    !*flag
}

impl From<&Extent> for ExtentRecord {
    fn from(extent: &Extent) -> Self {
        let (physical, device) = match extent.place {
            Place::Nowhere => (None, None),
            Place::Device(at) => (Some(at.pa.0), Some(at.device.to_string().into())),
            Place::Metadata { space: Space::Primary, position } => {
                (Some(position), Some("0".into()))
            }
            Place::Metadata { space: Space::Metabox, position } => {
                (Some(position), Some("metabox".into()))
            }
            Place::Packed { offset } => (Some(offset), Some("packed".into())),
        };
        Self {
            logical: extent.la,
            length: extent.len,
            physical,
            stored: extent.plen,
            kind: extent.kind.name(),
            partial: matches!(extent.kind, ExtentKind::Compressed { partial: true, .. }),
            interlaced: matches!(extent.kind, ExtentKind::Plain { interlaced: true }),
            device,
        }
    }
}

impl ExtentRecord {
    /// The heading of the columns.
    pub(crate) const HEADING: &str = "  ext:            logical range           physical range     length     stored kind      device";
}

impl fmt::Display for ExtentRecord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&range(Some(self.logical), self.length))?;
        write!(f, " {}", range(self.physical, self.stored))?;
        write!(f, " {:>10} {:>10} {:<9}", self.length, self.stored, self.kind)?;
        write!(f, " {}", self.device.as_deref().unwrap_or("-"))?;
        f.write_str(if self.partial { " partial" } else { "" })?;
        f.write_str(if self.interlaced { " interlaced" } else { "" })
    }
}

/// The first and the last byte of a range.
fn range(first: Option<u64>, length: u64) -> String {
    let Some(first) = first else { return format!("{:>24}", "-") };
    let last = first.saturating_add(length).saturating_sub(1);
    format!("{first:>11}..{last:>11}")
}

#[cfg(test)]
mod tests {
    use lith::format::compression::Algorithm;

    use super::*;

    #[test]
    fn an_extent_is_one_line_or_one_object() {
        let kind = ExtentKind::Compressed { algorithm: Algorithm::Lz4, partial: true };
        let place = Place::Packed { offset: 7 };
        let extent = Extent { la: 100, len: 50, kind, place, plen: 20 };
        let record = ExtentRecord::from(&extent);
        let line = record.to_string();
        let columns: Vec<_> = line.split_whitespace().collect();
        let expected = ["100..", "149", "7..", "26", "50", "20", "lz4", "packed", "partial"];
        assert_eq!(columns, expected);
        let json = serde_json::to_string(&record).unwrap();
        let expected = r#"{"logical":100,"length":50,"physical":7,"stored":20,"kind":"lz4","partial":true,"device":"packed"}"#;
        assert_eq!(json, expected);
    }

    #[test]
    fn a_hole_has_no_place() {
        let hole =
            Extent { la: 0, len: 4096, kind: ExtentKind::Hole, place: Place::Nowhere, plen: 0 };
        let json = serde_json::to_string(&ExtentRecord::from(&hole)).unwrap();
        assert_eq!(json, r#"{"logical":0,"length":4096,"stored":0,"kind":"hole"}"#);
        assert!(ExtentRecord::from(&hole).to_string().contains(" - "));
    }
}
