//! The volume claim of one generation of a session. Nobody owns it: nothing that deletes objects deletes work.

use std::collections::BTreeMap;

use crds::names::ClaimName;
use crds::{SessionVolume, labels};
use k8s_openapi::api::core::v1::{
    PersistentVolumeClaim, PersistentVolumeClaimSpec, VolumeResourceRequirements,
};

use super::{Kin, meta};

/// The claim.
#[must_use]
pub fn claim(
    kin: &Kin,
    name: &ClaimName,
    generation: u32,
    volume: &SessionVolume,
) -> PersistentVolumeClaim {
    PersistentVolumeClaim {
        metadata: meta(
            kin,
            name.as_str(),
            &[(labels::GENERATION, generation.to_string())],
            None,
        ),
        spec: Some(PersistentVolumeClaimSpec {
            access_modes: Some(vec![volume.access_mode.as_str().to_owned()]),
            storage_class_name: volume.storage_class_name.clone(),
            resources: Some(VolumeResourceRequirements {
                requests: Some(BTreeMap::from([(
                    "storage".to_owned(),
                    volume.size.clone(),
                )])),
                limits: None,
            }),
            ..PersistentVolumeClaimSpec::default()
        }),
        status: None,
    }
}
