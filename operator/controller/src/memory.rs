//! What was seen and cannot be seen again. All of it may be lost: then the operator waits longer before it
//! believes that a pod is dead, and asks the store once more who an object was.

use std::collections::{HashMap, HashSet, VecDeque};
use std::hash::Hash;
use std::sync::{Arc, Mutex, MutexGuard};

use crds::CliStatus;
use k8s_openapi::api::core::v1::Pod;
use protocol::TaskId;

use crate::context::Key;
use crate::task::decide::Deletion;

/// Last sights of pods that are kept. One is needed from the pod's end to the holder's release.
const LAST_SIGHTS: usize = 4096;
/// Objects whose task is known without asking the store.
const KNOWN_OBJECTS: usize = 65_536;
/// Tasks that wait for another pod of the same name to go.
const BLOCKED: usize = 16_384;

/// Programs of Runtimes that are known, and images that their pods were seen with.
const CLIS: usize = 4096;
/// Programs that are asked for their version at a time.
const PROBES: usize = 4;
/// Runtimes that wait for that.
const PROBES_WAITING: usize = 4096;

/// Objects that wait for room in the queue of their workspace. One more looks for it by itself, now and then.
const TURNED_AWAY: usize = 16_384;

/// Deliveries that the store could not take and that are tried again.
const TRIES: usize = 1024;

/// The memory.
#[derive(Debug)]
pub struct Memory {
    pods: Mutex<Bounded<String, Arc<Pod>>>,
    objects: Mutex<Bounded<String, TaskId>>,
    blocked: Mutex<Bounded<(String, String), TaskId>>,
    deleted: Mutex<Bounded<String, Deletion>>,
    turned_away: Mutex<TurnedAway>,
    clis: Mutex<Bounded<String, CliStatus>>,
    images: Mutex<Bounded<(String, String), String>>,
    tries: Mutex<Bounded<u128, u32>>,
    probes: Mutex<Probes>,
}

impl Default for Memory {
    fn default() -> Self {
        Self {
            pods: Mutex::new(Bounded::new(LAST_SIGHTS)),
            objects: Mutex::new(Bounded::new(KNOWN_OBJECTS)),
            blocked: Mutex::new(Bounded::new(BLOCKED)),
            deleted: Mutex::new(Bounded::new(LAST_SIGHTS)),
            turned_away: Mutex::default(),
            clis: Mutex::new(Bounded::new(CLIS)),
            images: Mutex::new(Bounded::new(CLIS)),
            tries: Mutex::new(Bounded::new(TRIES)),
            probes: Mutex::default(),
        }
    }
}

impl Memory {
    /// Keeps what was last seen of a pod whose object is gone.
    pub fn bury(&self, pod: Arc<Pod>) {
        if let Some(uid) = pod.metadata.uid.clone() {
            lock(&self.pods).put(uid, pod);
        }
    }

    /// What was last seen of a pod whose object is gone.
    #[must_use]
    pub fn last_sight(&self, pod_uid: &str) -> Option<Arc<Pod>> {
        lock(&self.pods).get(pod_uid)
    }

    /// Remembers which deletion of a pod was accepted last: the watch tells of it later.
    pub fn deleted(&self, pod_uid: &str, how: Deletion) {
        lock(&self.deleted).put(pod_uid.to_owned(), how);
    }

    /// Which deletion of a pod was accepted last.
    #[must_use]
    pub fn deletion(&self, pod_uid: &str) -> Option<Deletion> {
        lock(&self.deleted).get(pod_uid)
    }

    /// Remembers the task of an object.
    pub fn know(&self, object_uid: &str, task: TaskId) {
        lock(&self.objects).put(object_uid.to_owned(), task);
    }

    /// The task of an object, if it is remembered.
    #[must_use]
    pub fn task_of(&self, object_uid: &str) -> Option<TaskId> {
        lock(&self.objects).get(object_uid)
    }

    /// Counts a try of a delivery that came to nothing; says how many there were.
    #[must_use]
    pub fn tried(&self, delivery: u128) -> u32 {
        let mut tries = lock(&self.tries);
        let count = tries.get(&delivery).unwrap_or(0).saturating_add(1);
        tries.put(delivery, count);
        count
    }

    /// A task waits until the pod of this place is gone.
    pub fn block(&self, namespace: &str, pod: &str, task: TaskId) {
        lock(&self.blocked).put((namespace.to_owned(), pod.to_owned()), task);
    }

    /// An object found no room in the queue of its workspace. False when no more of them can be remembered.
    pub fn turn_away(&self, namespace: &str, object: Key) -> bool {
        lock(&self.turned_away).push(namespace, object)
    }

    /// The object that has waited longest for room in the queue of this workspace. It is asked for once.
    #[must_use]
    pub fn let_in(&self, namespace: &str) -> Option<Key> {
        lock(&self.turned_away).pop(namespace)
    }

    /// Remembers what is known of a program.
    pub(crate) fn know_cli(&self, cli: CliStatus) {
        lock(&self.clis).put(cli.probed.clone(), cli);
    }

    /// What is known of what this names.
    pub(crate) fn cli(&self, probed: &str) -> Option<CliStatus> {
        lock(&self.clis).get(probed)
    }

    /// A task's pod was seen with this image. True when the one before had another.
    pub(crate) fn saw_image(&self, namespace: &str, runtime: &str, image: &str) -> bool {
        let place = (namespace.to_owned(), runtime.to_owned());
        let mut images = lock(&self.images);
        let is_new = images.get(&place).is_none_or(|known| known != image);
        if is_new {
            images.put(place, image.to_owned());
        }
        is_new
    }

    /// The image that a task's pod of a Runtime was last seen with, where that was not the one that was asked.
    pub(crate) fn image_seen(&self, namespace: &str, runtime: &str) -> Option<String> {
        lock(&self.images).get(&(namespace.to_owned(), runtime.to_owned()))
    }

    /// Whether a Runtime's program may be asked now. If not, the Runtime comes when its turn does.
    pub(crate) fn may_probe(&self, runtime: &Key) -> bool {
        lock(&self.probes).enter(runtime)
    }

    /// A Runtime's program was asked, or need not be: the Runtime whose turn it is now.
    pub(crate) fn probed(&self, runtime: &Key) -> Option<Key> {
        lock(&self.probes).leave(runtime)
    }

    /// The task that waited for the pod of this place to go.
    pub fn unblock(&self, namespace: &str, pod: &str) -> Option<TaskId> {
        lock(&self.blocked).remove(&(namespace.to_owned(), pod.to_owned()))
    }
}

/// Runtimes whose programs are asked for their versions, and those that wait for that.
#[derive(Debug, Default)]
struct Probes {
    running: HashSet<Key>,
    waiting: VecDeque<Key>,
}

impl Probes {
    fn enter(&mut self, runtime: &Key) -> bool {
        if self.running.len() < PROBES || self.running.contains(runtime) {
            self.running.insert(runtime.clone());
            return true;
        }
        // What does not fit comes with the next change or the next look at everything.
        if self.waiting.len() < PROBES_WAITING && !self.waiting.contains(runtime) {
            self.waiting.push_back(runtime.clone());
        }
        false
    }

    fn leave(&mut self, runtime: &Key) -> Option<Key> {
        self.running
            .remove(runtime)
            .then(|| self.waiting.pop_front())
            .flatten()
    }
}

/// Objects for which there was no room, in the order in which they came.
#[derive(Debug, Default)]
struct TurnedAway {
    queues: HashMap<String, VecDeque<Key>>,
    known: HashSet<Key>,
}

impl TurnedAway {
    fn push(&mut self, namespace: &str, object: Key) -> bool {
        if self.known.contains(&object) {
            return true;
        }
        if self.known.len() >= TURNED_AWAY {
            return false;
        }
        self.known.insert(object.clone());
        let queue = self.queues.entry(namespace.to_owned()).or_default();
        queue.push_back(object);
        true
    }

    fn pop(&mut self, namespace: &str) -> Option<Key> {
        let queue = self.queues.get_mut(namespace)?;
        let first = queue.pop_front();
        if queue.is_empty() {
            self.queues.remove(namespace);
        }
        let first = first?;
        self.known.remove(&first);
        Some(first)
    }
}

/// A map that forgets its oldest entries.
#[derive(Debug)]
struct Bounded<K, V> {
    map: HashMap<K, V>,
    order: VecDeque<K>,
    capacity: usize,
}

impl<K: Clone + Eq + Hash, V: Clone> Bounded<K, V> {
    fn new(capacity: usize) -> Self {
        Self {
            map: HashMap::new(),
            order: VecDeque::new(),
            capacity,
        }
    }

    fn put(&mut self, key: K, value: V) {
        if self.map.insert(key.clone(), value).is_none() {
            self.order.push_back(key);
        }
        // Keys that were removed still stand in the order; they go when their turn comes.
        while self.order.len() > self.capacity {
            if let Some(oldest) = self.order.pop_front() {
                self.map.remove(&oldest);
            }
        }
    }

    fn get<Q>(&self, key: &Q) -> Option<V>
    where
        K: std::borrow::Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        self.map.get(key).cloned()
    }

    fn remove(&mut self, key: &K) -> Option<V> {
        self.map.remove(key)
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex
        .lock()
        .expect("no code panics while it holds this lock")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_was_turned_away_first_is_let_in_first() {
        let memory = Memory::default();
        let key = |name: &str| Key::Namespace(name.to_owned());
        for name in ["a", "b", "a"] {
            assert!(memory.turn_away("team", key(name)));
        }
        assert!(memory.turn_away("other", key("c")));
        let in_order: Vec<_> = std::iter::from_fn(|| memory.let_in("team")).collect();
        assert_eq!(in_order, [key("a"), key("b")]);
        for number in 1..TURNED_AWAY {
            assert!(memory.turn_away("team", key(&number.to_string())));
        }
        assert!(!memory.turn_away("team", key("one more")));
        assert_eq!(memory.let_in("other"), Some(key("c")));
        assert!(memory.turn_away("team", key("one more")));
    }

    #[test]
    fn few_programs_are_asked_at_a_time_and_the_rest_in_turn() {
        let memory = Memory::default();
        let key = |number: usize| Key::Namespace(number.to_string());
        for number in 0..PROBES {
            assert!(memory.may_probe(&key(number)));
        }
        assert!(memory.may_probe(&key(0)));
        assert!(
            !memory.may_probe(&key(8)) && !memory.may_probe(&key(9)) && !memory.may_probe(&key(8))
        );
        assert_eq!(memory.probed(&key(7)), None);
        assert_eq!(memory.probed(&key(0)), Some(key(8)));
        assert!(memory.may_probe(&key(8)));
        assert_eq!(memory.probed(&key(8)), Some(key(9)));
        assert_eq!(memory.probed(&key(1)), None);
    }

    #[test]
    fn an_image_that_is_seen_again_is_no_news() {
        let memory = Memory::default();
        assert!(memory.saw_image("team", "claude", "one"));
        assert!(!memory.saw_image("team", "claude", "one"));
        assert!(memory.saw_image("team", "claude", "two"));
        assert_eq!(memory.image_seen("team", "claude").as_deref(), Some("two"));
    }

    #[test]
    fn the_oldest_is_forgotten_first() {
        let mut map = Bounded::new(2);
        map.put("a", 1);
        map.put("b", 2);
        map.put("a", 3);
        map.put("c", 4);
        assert_eq!(
            (map.get(&"a"), map.get(&"b"), map.get(&"c")),
            (None, Some(2), Some(4))
        );
    }
}
