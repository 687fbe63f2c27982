//! Limits in the seed's units.

use crate::refusal::Refusal;
use agar_core::limits::Limits;
use agar_core::size::Bytes;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

const MB: u64 = 1 << 20;

/// Limits in the seed's units. What is left out is derived from what is suggested.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct SeedLimits {
    /// Share of one processor, in percent.
    #[schema(minimum = 1)]
    pub(crate) cpu: Option<u32>,
    /// Memory of all processes together, in MB.
    #[schema(minimum = 1)]
    pub(crate) memory: Option<u64>,
    /// Time of one command, in seconds.
    #[schema(minimum = 1)]
    pub(crate) timeout: Option<u64>,
    /// Growth on disk, in MB; also `disk`.
    #[serde(rename = "diskQuota", alias = "disk", alias = "disk_quota")]
    #[schema(minimum = 1)]
    pub(crate) disk_quota: Option<u64>,
    /// `false` closes the network; only the person's settings open it.
    pub(crate) network: Option<bool>,
}

impl SeedLimits {
    /// The same in our units.
    pub(crate) fn limits(self) -> Result<Limits, Refusal> {
        let wrong = |name: &str| Refusal::invalid(format!("limits.{name} is not in its range"));
        let scaled = |value: Option<u64>, by: u64, name: &str| match value {
            None => Ok(None),
            Some(0) => Err(wrong(name)),
            Some(value) => value.checked_mul(by).map(Some).ok_or_else(|| wrong(name)),
        };
        if self.cpu == Some(0) {
            return Err(wrong("cpu"));
        }
        Ok(Limits {
            cpu_percent: self.cpu,
            memory_bytes: scaled(self.memory, MB, "memory")?.map(Bytes),
            processes: None,
            disk_bytes: scaled(self.disk_quota, MB, "diskQuota")?.map(Bytes),
            timeout_ms: scaled(self.timeout, 1000, "timeout")?,
            output_bytes: None,
        })
    }

    /// Our limits in the seed's units, whole numbers rounded up.
    pub(crate) fn of(limits: &Limits, network: bool) -> Self {
        let megabytes = |bytes: Option<Bytes>| bytes.map(|bytes| bytes.0.div_ceil(MB));
        Self {
            cpu: limits.cpu_percent,
            memory: megabytes(limits.memory_bytes),
            timeout: limits.timeout_ms.map(|ms| ms.div_ceil(1000)),
            disk_quota: megabytes(limits.disk_bytes),
            network: Some(network),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_spellings_mean_the_same() {
        let quota: SeedLimits = serde_json::from_str(r#"{"diskQuota": 100}"#).unwrap();
        let disk: SeedLimits = serde_json::from_str(r#"{"disk": 100}"#).unwrap();
        assert_eq!(quota, disk);
        let limits = disk.limits().unwrap();
        assert_eq!(limits.disk_bytes, Some(Bytes::mib(100)));
        assert_eq!(SeedLimits::of(&limits, false).disk_quota, Some(100));
    }

    #[test]
    fn nothing_and_more_than_there_can_be_are_refused() {
        for wrong in [
            r#"{"memory": 0}"#,
            r#"{"cpu": 0}"#,
            r#"{"timeout": 18446744073709551615}"#,
        ] {
            let limits: SeedLimits = serde_json::from_str(wrong).unwrap();
            assert!(limits.limits().is_err(), "{wrong}");
        }
        assert!(serde_json::from_str::<SeedLimits>(r#"{"memori": 1}"#).is_err());
    }
}
