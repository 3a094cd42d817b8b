//! What users of such systems report (`operator/docs/reports.md`), where no other test shows it.

use protocol::Outcome;

use crate::bed::{Bed, both};
use crate::talk::{Scene, task_of, to};

both! {
    async fn two_agents_work_on_one_issue_at_once(bed: Bed) {
        let mut scene = Scene::new(bed).await;
        let ada = scene.ada.clone();
        scene.say(&ada, &to("reviewer")).await;
        scene.say(&ada, &to("writer")).await;
        let (one, first) = scene.begin().await;
        let (other, second) = scene.begin().await;
        assert_eq!((first.author.id.as_str(), second.author.id.as_str()), ("reviewer", "writer"));
        for attempt in [one, other] {
            scene.end(attempt, Outcome::Succeeded).await;
        }
        assert_eq!(scene.claim().await, None);
        scene.bed.sound().await;
    }

    async fn six_threads_are_six_runs(bed: Bed) {
        let mut scene = Scene::new(bed).await;
        let ada = scene.ada.clone();
        let mut asked = Vec::new();
        for _ in 0..6 {
            let posted = scene.say(&ada, &to("reviewer")).await;
            asked.push((task_of(&posted.wakes), posted.comment.id));
        }
        for (task, thread) in asked {
            let (attempt, _) = scene.begin().await;
            assert_eq!((attempt.task, scene.bed.store.answers_in(task).await.unwrap()), (task, vec![thread]));
            // The conversation is one, and so is who works.
            assert_eq!(scene.claim().await, None);
            scene.end(attempt, Outcome::Succeeded).await;
        }
        assert_eq!(scene.claim().await, None);
        scene.bed.sound().await;
    }
}
