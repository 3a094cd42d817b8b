//! A story that has to end the same wherever the operator dies: told once for each write of a list and each fault of it.

use std::sync::Arc;

use controller::KubePoint;
use controller::kube_writes::{Fault, NoFaults};
use futures::StreamExt as _;
use store::WritePoint;

use crate::world::{KubeFault, Operator, World};

/// Stories that are told at a time.
const AT_ONCE: usize = 4;

/// A story that can be told again from any of its points.
pub(crate) struct Story<Work, Check> {
    /// What people have declared.
    pub(crate) declare: fn(&World),
    /// Told to its end, by an operator or by the one after it.
    pub(crate) work: Work,
    /// What has come of it.
    pub(crate) check: Check,
}

impl<Work, Check> Story<Work, Check>
where
    Work: AsyncFn(&World, &Operator, &str),
    Check: AsyncFn(&World, &Operator, &str),
{
    /// Tells it for each of these writes, which all have to happen in it.
    pub(crate) async fn tell(&self, kube: &[KubePoint], store: &[WritePoint]) {
        let in_cluster = [None, Some(Fault::ServerError), Some(Fault::TimeOut)];
        let in_store = [
            store::Fault::CrashAfter,
            store::Fault::ErrorAfter,
            store::Fault::ErrorBefore,
        ];
        let kube = kube.iter().flat_map(|point| {
            let faults = in_cluster.into_iter();
            faults.map(move |fault| self.at_kube(*point, fault))
        });
        let kube: Vec<_> = kube.collect();
        let store = store.iter().flat_map(|point| {
            let faults = in_store.into_iter();
            faults.map(move |fault| self.at_store(*point, fault))
        });
        let store: Vec<_> = store.collect();
        futures::stream::iter(kube)
            .buffer_unordered(AT_ONCE)
            .collect::<Vec<()>>()
            .await;
        futures::stream::iter(store)
            .buffer_unordered(AT_ONCE)
            .collect::<Vec<()>>()
            .await;
    }

    async fn at_kube(&self, point: KubePoint, fault: Option<Fault>) {
        let world = World::new();
        (self.declare)(&world);
        let plan = KubeFault::once(point, fault);
        let operator = world
            .start_with(plan.clone(), store::Faults::default())
            .await;
        let case = format!("{} {fault:?}", point.as_str());
        self.through(&world, operator, &case, plan.crashed()).await;
        assert!(plan.has_fired(), "{case}: this write never happened");
    }

    async fn at_store(&self, point: WritePoint, fault: store::Fault) {
        let world = World::new();
        (self.declare)(&world);
        let faults = store::Faults::once(point, fault);
        let operator = world.start_with(Arc::new(NoFaults), faults.clone()).await;
        let case = format!("{} {fault:?}", point.as_str());
        self.through(&world, operator, &case, faults.crashed())
            .await;
        assert!(
            faults.passed().contains(&point),
            "{case}: this write never happened"
        );
    }

    /// An operator that crashes on the way is started again.
    async fn through(
        &self,
        world: &World,
        operator: Operator,
        case: &str,
        crashed: impl Future<Output = ()>,
    ) {
        let whole = async {
            (self.work)(world, &operator, case).await;
            // What the last write did can be seen before the operator hears of it, and only then does it crash.
            crate::born::calm(&operator, case).await;
        };
        let ended = tokio::select! {
            () = whole => true,
            () = crashed => false,
        };
        let operator = if ended {
            operator
        } else {
            operator.kill().await;
            let again = world.start().await;
            tokio::select! {
                () = (self.work)(world, &again, case) => {}
                // A pod that went unseen is fenced for a while.
                () = world.let_time_pass(&again) => {}
            }
            crate::born::calm(&again, case).await;
            again
        };
        (self.check)(world, &operator, case).await;
        operator.stop().await;
    }
}
