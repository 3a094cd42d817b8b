//! A watch cache of one kind: what the cluster was last seen to hold.
//!
//! Unlike kube's own reflector store it says what vanished while the watch was away (nobody sends an event
//! for that), and it takes in what our own writes returned, so that a pass sees its own work and does not
//! do it again. Bounded by what the cluster holds; tombstones by [`TOMBSTONES`].

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::{Arc, RwLock, RwLockReadGuard, RwLockWriteGuard};

use kube::Resource;
use kube::api::ObjectMeta;
use kube::runtime::watcher::Event;
use tokio::sync::watch;

/// UIDs remembered as deleted, so that a late answer to our own write does not bring an object back.
const TOMBSTONES: usize = 1024;

/// Namespace and name; the namespace is empty for kinds without one.
pub(super) type Place = (String, String);

/// A change of the cache.
#[derive(Clone, Debug)]
pub enum Seen<K> {
    /// It is there, new or changed, and what was there before.
    There(Arc<K>, Option<Arc<K>>),
    /// It is gone; this is how it was at its end.
    Gone(Arc<K>),
    /// It is gone, but nobody saw it go; this is how it was some time before.
    Missed(Arc<K>),
    /// Everything was listed.
    Listed,
}

/// The cache. Clones share it.
#[derive(Debug)]
pub struct Cache<K> {
    inner: Arc<RwLock<Inner<K>>>,
    ready: Arc<watch::Sender<bool>>,
}

impl<K> Clone for Cache<K> {
    fn clone(&self) -> Self {
        Self {
            inner: Arc::clone(&self.inner),
            ready: Arc::clone(&self.ready),
        }
    }
}

#[derive(Debug)]
struct Inner<K> {
    objects: HashMap<String, HashMap<String, Arc<K>>>,
    /// Places seen since the last `Init`, while a list is under way.
    listing: Option<HashSet<Place>>,
    /// Places of objects that are there but cannot be read.
    unreadable: HashSet<Place>,
    graves: HashSet<String>,
    grave_order: VecDeque<String>,
}

impl<K> Default for Cache<K> {
    fn default() -> Self {
        let inner = Inner {
            objects: HashMap::new(),
            listing: None,
            unreadable: HashSet::new(),
            graves: HashSet::new(),
            grave_order: VecDeque::new(),
        };
        Self {
            inner: Arc::new(RwLock::new(inner)),
            ready: Arc::new(watch::Sender::new(false)),
        }
    }
}

impl<K: Resource> Cache<K> {
    /// What is there under this name. Use an empty namespace for kinds without one.
    #[must_use]
    pub fn get(&self, namespace: &str, name: &str) -> Option<Arc<K>> {
        self.read().objects.get(namespace)?.get(name).cloned()
    }

    /// Everything in a namespace.
    #[must_use]
    pub fn in_namespace(&self, namespace: &str) -> Vec<Arc<K>> {
        self.read()
            .objects
            .get(namespace)
            .map(|all| all.values().cloned().collect())
            .unwrap_or_default()
    }

    /// Everything.
    #[must_use]
    pub fn all(&self) -> Vec<Arc<K>> {
        self.read()
            .objects
            .values()
            .flat_map(HashMap::values)
            .cloned()
            .collect()
    }

    /// True when there is an object of this name that cannot be read: then nothing is known about it.
    #[must_use]
    pub fn is_unreadable(&self, namespace: &str, name: &str) -> bool {
        self.read()
            .unreadable
            .contains(&(namespace.to_owned(), name.to_owned()))
    }

    /// Takes in that there is an object which cannot be read; what was known of it stays.
    pub fn unreadable(&self, meta: &ObjectMeta) {
        let place = place_of(meta);
        let mut inner = self.write();
        if let Some(listing) = &mut inner.listing {
            listing.insert(place.clone());
        }
        inner.unreadable.insert(place);
    }

    /// Takes in that an object is gone whose end cannot be read.
    pub fn forget(&self, meta: &ObjectMeta) {
        let place = place_of(meta);
        let mut inner = self.write();
        inner.unreadable.remove(&place);
        let known = inner.at(&place);
        if known.is_some_and(|known| known.meta().uid == meta.uid) {
            inner.remove(&place);
        }
    }

    /// Waits until everything was listed once.
    pub async fn ready(&self) {
        // The sender lives as long as `self`, so this cannot fail.
        let _ = self.ready.subscribe().wait_for(|ready| *ready).await;
    }

    /// True once everything was listed.
    #[must_use]
    pub fn is_ready(&self) -> bool {
        *self.ready.borrow()
    }

    /// Takes in what a write of ours returned, unless something newer is known.
    pub fn observe(&self, object: K) -> Arc<K> {
        let object = Arc::new(object);
        let mut inner = self.write();
        let dead = object
            .meta()
            .uid
            .as_ref()
            .is_some_and(|uid| inner.graves.contains(uid));
        if !dead && !inner.has_newer(&object) {
            if let Some(listing) = &mut inner.listing {
                // The list under way may be older than this write; the watch after it is not.
                listing.insert(place(object.as_ref()));
            }
            inner.insert(Arc::clone(&object));
        }
        object
    }

    /// Takes in an event of the watch and says what changed.
    pub fn apply(&self, event: Event<K>) -> Vec<Seen<K>> {
        let mut inner = self.write();
        match event {
            Event::Apply(object) => inner.there(object),
            Event::Delete(object) => {
                // Another one of this name may be known already: an answer can be ahead of the watch.
                let known = inner.at(&place(&object));
                if known.is_some_and(|known| known.meta().uid == object.meta().uid) {
                    inner.remove(&place(&object));
                }
                inner.unreadable.remove(&place(&object));
                let object = Arc::new(object);
                inner.bury(&object);
                vec![Seen::Gone(object)]
            }
            Event::Init => {
                inner.listing = Some(HashSet::new());
                Vec::new()
            }
            Event::InitApply(object) => {
                if let Some(listing) = &mut inner.listing {
                    listing.insert(place(&object));
                }
                inner.there(object)
            }
            Event::InitDone => {
                let mut seen = inner.drop_unlisted();
                drop(inner);
                self.ready.send_replace(true);
                seen.push(Seen::Listed);
                seen
            }
        }
    }

    fn read(&self) -> RwLockReadGuard<'_, Inner<K>> {
        self.inner
            .read()
            .expect("no code panics while it holds this lock")
    }

    fn write(&self) -> RwLockWriteGuard<'_, Inner<K>> {
        self.inner
            .write()
            .expect("no code panics while it holds this lock")
    }
}

impl<K: Resource> Inner<K> {
    /// A new object, after the old one of the same name is gone where that was not told.
    fn there(&mut self, object: K) -> Vec<Seen<K>> {
        if self.has_newer(&object) {
            return Vec::new();
        }
        let mut seen = Vec::new();
        let mut old = self.at(&place(&object)).cloned();
        if let Some(other) = old.take_if(|old| old.meta().uid != object.meta().uid) {
            self.bury(other.as_ref());
            seen.push(Seen::Missed(other));
        }
        if old
            .as_ref()
            .is_some_and(|old| version(old.as_ref()) == version(&object))
        {
            // Our own write, or the same again in a list: whoever did it knows.
            return seen;
        }
        self.unreadable.remove(&place(&object));
        let object = Arc::new(object);
        self.insert(Arc::clone(&object));
        seen.push(Seen::There(object, old));
        seen
    }

    fn at(&self, (namespace, name): &Place) -> Option<&Arc<K>> {
        self.objects.get(namespace)?.get(name)
    }

    fn has_newer(&self, object: &K) -> bool {
        self.at(&place(object)).is_some_and(|known| {
            known.meta().uid == object.meta().uid && version(known.as_ref()) > version(object)
        })
    }

    fn insert(&mut self, object: Arc<K>) {
        let (namespace, name) = place(object.as_ref());
        self.objects
            .entry(namespace)
            .or_default()
            .insert(name, object);
    }

    fn remove(&mut self, (namespace, name): &Place) -> Option<Arc<K>> {
        let all = self.objects.get_mut(namespace)?;
        let removed = all.remove(name);
        if all.is_empty() {
            self.objects.remove(namespace);
        }
        removed
    }

    fn bury(&mut self, object: &K) {
        let Some(uid) = object.meta().uid.clone() else {
            return;
        };
        if self.graves.insert(uid.clone()) {
            self.grave_order.push_back(uid);
        }
        if self.grave_order.len() > TOMBSTONES
            && let Some(oldest) = self.grave_order.pop_front()
        {
            self.graves.remove(&oldest);
        }
    }

    fn drop_unlisted(&mut self) -> Vec<Seen<K>> {
        let Some(listed) = self.listing.take() else {
            return Vec::new();
        };
        self.unreadable.retain(|place| listed.contains(place));
        let gone: Vec<Place> = self
            .objects
            .values()
            .flat_map(HashMap::values)
            .map(|object| place(object.as_ref()))
            .filter(|place| !listed.contains(place))
            .collect();
        let mut seen = Vec::new();
        for place in gone {
            if let Some(object) = self.remove(&place) {
                self.bury(&object);
                seen.push(Seen::Missed(object));
            }
        }
        seen
    }
}

fn place<K: Resource>(object: &K) -> Place {
    place_of(object.meta())
}

fn place_of(meta: &ObjectMeta) -> Place {
    (
        meta.namespace.clone().unwrap_or_default(),
        meta.name.clone().unwrap_or_default(),
    )
}

/// Versions of one kind in one cluster are numbers that rise; what is not a number counts as oldest.
fn version<K: Resource>(object: &K) -> u64 {
    object
        .meta()
        .resource_version
        .as_deref()
        .and_then(|text| text.parse().ok())
        .unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use k8s_openapi::api::core::v1::Pod;

    fn pod(name: &str, uid: &str, version: u64) -> Pod {
        Pod {
            metadata: ObjectMeta {
                namespace: Some("ns".into()),
                name: Some(name.into()),
                uid: Some(uid.into()),
                resource_version: Some(version.to_string()),
                ..ObjectMeta::default()
            },
            ..Pod::default()
        }
    }

    fn words(seen: &[Seen<Pod>]) -> Vec<String> {
        let uid = |pod: &Pod| pod.metadata.uid.clone().unwrap();
        seen.iter()
            .map(|seen| match seen {
                Seen::There(pod, _) => format!("+{}", uid(pod)),
                Seen::Gone(pod) => format!("-{}", uid(pod)),
                Seen::Missed(pod) => format!("?{}", uid(pod)),
                Seen::Listed => "listed".into(),
            })
            .collect()
    }

    #[test]
    fn what_vanished_while_the_watch_was_away_is_told() {
        let cache = Cache::default();
        let list = |pods: Vec<Pod>| {
            let mut seen = cache.apply(Event::Init);
            for pod in pods {
                seen.extend(cache.apply(Event::InitApply(pod)));
            }
            seen.extend(cache.apply(Event::InitDone));
            words(&seen)
        };
        assert_eq!(
            list(vec![pod("a", "1", 1), pod("b", "2", 2)]),
            ["+1", "+2", "listed"]
        );
        assert_eq!(list(vec![pod("b", "3", 5)]), ["?2", "+3", "?1", "listed"]);
        assert!(cache.get("ns", "a").is_none());
    }

    #[test]
    fn our_own_writes_are_seen_and_never_bring_back_the_dead() {
        let cache = Cache::default();
        cache.observe(pod("a", "1", 5));
        assert!(
            cache.apply(Event::Apply(pod("a", "1", 4))).is_empty(),
            "older than what we wrote"
        );
        assert_eq!(words(&cache.apply(Event::Apply(pod("a", "1", 6)))), ["+1"]);
        cache.observe(pod("a", "1", 5));
        assert_eq!(
            cache
                .get("ns", "a")
                .unwrap()
                .metadata
                .resource_version
                .as_deref(),
            Some("6")
        );
        assert_eq!(words(&cache.apply(Event::Delete(pod("a", "1", 7)))), ["-1"]);
        cache.observe(pod("a", "1", 6));
        assert!(cache.get("ns", "a").is_none());
    }

    #[test]
    fn the_end_of_an_old_object_leaves_the_new_one_of_its_name() {
        let cache = Cache::default();
        cache.apply(Event::Apply(pod("a", "1", 1)));
        // The answer to a write or a question of ours may be ahead of the watch.
        cache.observe(pod("a", "2", 9));
        assert_eq!(words(&cache.apply(Event::Delete(pod("a", "1", 8)))), ["-1"]);
        let there = cache.get("ns", "a").unwrap();
        assert_eq!(there.metadata.uid.as_deref(), Some("2"));
    }

    #[test]
    fn what_cannot_be_read_does_not_look_gone_while_everything_is_listed_again() {
        let cache = Cache::<Pod>::default();
        let told = pod("a", "1", 1).metadata;
        cache.unreadable(&told);
        cache.apply(Event::Init);
        assert!(cache.is_unreadable("ns", "a"), "not yet listed");
        cache.unreadable(&told);
        cache.apply(Event::InitDone);
        assert!(cache.is_unreadable("ns", "a"), "listed");
        cache.apply(Event::Init);
        cache.apply(Event::InitDone);
        assert!(!cache.is_unreadable("ns", "a"), "gone");
    }

    #[tokio::test]
    async fn readiness_comes_with_the_first_list() {
        use futures::FutureExt as _;
        let cache = Cache::<Pod>::default();
        assert!(cache.ready().now_or_never().is_none());
        cache.apply(Event::Init);
        cache.apply(Event::InitDone);
        assert!(cache.ready().now_or_never().is_some());
    }
}
