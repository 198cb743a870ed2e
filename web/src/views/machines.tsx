// Machines: fleets and their roll-outs, pools, hypervisors, and the life of each machine.

import { linkTo, pathOf } from "../api/objects";
import { type Fleet, type HypervisorCluster, KINDS, type MachineClaim, type RunnerPool } from "../generated/kinds";
import { assess } from "../store/health";
import { useObjects } from "../store/live";
import { Badge, Bar, Empty, Facts, HealthBadge, PageHead, Panel, Time } from "../ui/basics";
import { formatSeconds } from "../ui/time";
import { Detail } from "./detail";
import { type Cell, KindTable } from "./kind-table";
import { MachineConsole } from "./machine-console";

export function MachinesView({ parts }: { parts: string[] }) {
  const [kind, namespace, name] = parts;
  const crumbs: [string, string][] = [["Machines", "/machines"]];
  if (kind === "fleets" && namespace && name) {
    return (
      <Detail<Fleet> key={`fleet ${namespace}/${name}`} resource={KINDS.Fleet} namespace={namespace} name={name} crumbs={crumbs}>
        {(fleet) => <FleetPanels fleet={fleet} />}
      </Detail>
    );
  }
  if (kind === "claims" && namespace && name) {
    return (
      <Detail<MachineClaim> key={`claim ${namespace}/${name}`} resource={KINDS.MachineClaim} namespace={namespace} name={name} crumbs={crumbs}>
        {(claim) => <ClaimPanels claim={claim} />}
      </Detail>
    );
  }
  return <Lists />;
}

const CLAIM_CELLS: Cell<MachineClaim>[] = [
  { label: "Machine", render: (each) => <a href={`/machines/claims/${each.metadata.namespace}/${each.metadata.name}`}>{each.metadata.name}</a> },
  { label: "Phase", render: (each) => <HealthBadge health={assess(each)} /> },
  { label: "Template", render: (each) => each.spec.templateRef?.name ?? "–" },
  { label: "Fleet", render: (each) => each.spec.fleetRef?.name ?? "–" },
  { label: "Node", render: (each) => each.status?.vmRef?.node ?? "–" },
  { label: "VM", isNumber: true, render: (each) => each.status?.vmRef?.vmId ?? "–" },
  { label: "Address", render: (each) => <span class="mono">{each.status?.networkInfo?.ipAddress ?? "–"}</span> },
  { label: "Age", render: (each) => <Time at={each.metadata.creationTimestamp} /> },
];

function Lists() {
  const fleets = useObjects<Fleet>(KINDS.Fleet);
  const claims = useObjects<MachineClaim>(KINDS.MachineClaim);
  const pools = useObjects<RunnerPool>(KINDS.RunnerPool);
  const hypervisors = useObjects<HypervisorCluster>(KINDS.HypervisorCluster);
  return (
    <>
      <PageHead title="Machines">
        <span class="muted num">{claims.items.length}</span>
      </PageHead>
      <div class="stack">
        <Panel title="Fleets">
          <KindTable
            live={fleets}
            label="Fleets"
            empty={
              <Empty title="No fleet yet" command="kubectl apply -f config/samples/hypervisor_v1alpha1_fleet.yaml">
                A Fleet keeps a number of machines of one image and replaces them step by step when the image changes.
              </Empty>
            }
            cells={[
              { label: "Fleet", render: (each) => <a href={`/machines/fleets/${each.metadata.namespace}/${each.metadata.name}`}>{each.metadata.name}</a> },
              { label: "State", render: (each) => <HealthBadge health={assess(each)} /> },
              { label: "Ready", render: (each) => <FleetBar fleet={each} /> },
              { label: "Up to date", isNumber: true, render: (each) => `${each.status?.updatedReplicas ?? 0}/${each.spec.replicas ?? 0}` },
              { label: "Image", render: (each) => each.spec.image ?? "–" },
              { label: "Age", render: (each) => <Time at={each.metadata.creationTimestamp} /> },
            ]}
          />
        </Panel>
        <Panel title="Machines">
          <KindTable
            live={claims}
            label="Machines"
            cells={CLAIM_CELLS}
            empty={
              <Empty title="No machine yet" command="kubectl apply -f config/samples/hypervisor_v1alpha1_machineclaim.yaml">
                A MachineClaim asks for one virtual machine; fleets and pools make them by themselves.
              </Empty>
            }
          />
        </Panel>
        <div class="columns">
          <Panel class="span-6" title="Runner pools">
            <KindTable
              live={pools}
              label="Runner pools"
              empty={<Empty title="No runner pool yet">A RunnerPool creates machines for queued CI jobs.</Empty>}
              cells={[
                { label: "Pool", render: (each) => <a href={linkTo(KINDS.RunnerPool, each.metadata.namespace, each.metadata.name)}>{each.metadata.name}</a> },
                { label: "State", render: (each) => <HealthBadge health={assess(each)} /> },
                { label: "Ready", isNumber: true, render: (each) => `${each.status?.readyReplicas ?? 0}/${each.status?.desiredReplicas ?? 0}` },
                { label: "Busy", isNumber: true, render: (each) => each.status?.busyReplicas ?? 0 },
                { label: "Queued", isNumber: true, render: (each) => each.status?.queuedJobs ?? 0 },
              ]}
            />
          </Panel>
          <Panel class="span-6" title="Hypervisors">
            <KindTable
              live={hypervisors}
              label="Hypervisors"
              empty={<Empty title="No hypervisor yet">A HypervisorCluster defines where machines are created: a simulator, Proxmox VE or QEMU on this host.</Empty>}
              cells={[
                { label: "Hypervisor", render: (each) => <a href={linkTo(KINDS.HypervisorCluster, each.metadata.namespace, each.metadata.name)}>{each.metadata.name}</a> },
                { label: "State", render: (each) => <HealthBadge health={assess(each)} /> },
                { label: "Provider", render: (each) => `${each.spec.provider} ${each.status?.providerVersion ?? ""}` },
                { label: "Nodes", isNumber: true, render: (each) => each.status?.connectedNodes ?? "–" },
              ]}
            />
          </Panel>
        </div>
      </div>
    </>
  );
}

function FleetBar({ fleet }: { fleet: Fleet }) {
  const wanted = fleet.spec.replicas ?? 0;
  const ready = fleet.status?.readyReplicas ?? 0;
  const text = `${ready} of ${wanted} ready`;
  return (
    <div class="stack tight">
      <span class="num nowrap">{text}</span>
      <Bar counts={{ ok: Math.min(ready, wanted), busy: Math.max(0, wanted - ready), warn: 0, bad: 0, idle: 0 }} label={text} />
    </div>
  );
}

function FleetPanels({ fleet }: { fleet: Fleet }) {
  const claims = useObjects<MachineClaim>(KINDS.MachineClaim, fleet.metadata.namespace);
  const own = { ...claims, items: claims.items.filter((each) => each.spec.fleetRef?.name === fleet.metadata.name) };
  const status = fleet.status;
  return (
    <div class="columns">
      <Panel class="span-4" title="Roll-out">
        <div class="body stack">
          <FleetBar fleet={fleet} />
          <Facts
            rows={[
              ["Up to date", `${status?.updatedReplicas ?? 0} of ${fleet.spec.replicas ?? 0}`],
              ["Available", status?.availableReplicas],
              ["Image", fleet.spec.image],
              ["Revision", <span class="mono">{status?.updateRevision ?? status?.currentRevision}</span>],
              ["Strategy", fleet.spec.strategy?.type],
              ["Last progress", <Time at={status?.lastProgressTime} />],
            ]}
          />
        </div>
      </Panel>
      <Panel class="span-8" title="Revisions">
        <ul class="list">
          {[...(status?.revisions ?? [])].reverse().map((revision) => (
            <li key={revision.hash}>
              <Badge level={revision.hash === status?.updateRevision ? "ok" : "idle"}>{revision.hash === status?.updateRevision ? "wanted" : "earlier"}</Badge>
              <div class="what">
                <strong>
                  {revision.revision} · {revision.image}
                </strong>
                <p class="mono">{revision.hash}</p>
              </div>
              <span class="when">
                <Time at={revision.createdAt} />
              </span>
            </li>
          ))}
        </ul>
      </Panel>
      <Panel class="span-12" title="Machines of the fleet">
        <KindTable live={own} label="Machines" cells={CLAIM_CELLS} empty={<Empty title="No machines">The fleet is scaled to zero, or its first machines are about to be created.</Empty>} />
      </Panel>
    </div>
  );
}

function ClaimPanels({ claim }: { claim: MachineClaim }) {
  const status = claim.status;
  return (
    <div class="columns">
      <Panel class="span-12" title="From clone to ready">
        <div class="body">
          <Timeline claim={claim} />
        </div>
      </Panel>
      <Panel class="span-12" title="Machine">
        <div class="body">
          <Facts
            rows={[
              ["Template", claim.spec.templateRef?.name],
              ["Fleet", claim.spec.fleetRef?.name ? <a href={`/machines/fleets/${claim.metadata.namespace}/${claim.spec.fleetRef.name}`}>{claim.spec.fleetRef.name}</a> : undefined],
              ["Hypervisor", status?.vmRef?.hypervisorCluster],
              ["Node", status?.vmRef?.node],
              ["VM", status?.vmRef?.vmId],
              ["Address", <span class="mono">{status?.networkInfo?.ipAddress}</span>],
              ["Provider ID", <span class="mono">{status?.providerID}</span>],
              ["In a terminal", <code>quarterdeck machines console {claim.metadata.name}</code>],
            ]}
          />
        </div>
      </Panel>
      <MachineConsole path={pathOf(KINDS.MachineClaim, claim.metadata.namespace, claim.metadata.name)} phase={status?.phase ?? ""} />
    </div>
  );
}

interface Step {
  label: string;
  at: string;
  note: string;
  isDone: boolean;
}

function Timeline({ claim }: { claim: MachineClaim }) {
  const steps = listSteps(claim);
  const isFailed = claim.status?.phase === "Failed";
  const current = steps.findIndex((step) => !step.isDone);
  return (
    <ol class="steps" data-testid="timeline">
      {steps.map((step, index) => (
        <li key={step.label} class={step.isDone ? "done" : index === current ? (isFailed ? "fail" : "now") : ""}>
          <strong>{step.label}</strong>
          {step.isDone ? <Time at={step.at} /> : <span class="faint">{index === current ? "in progress" : "waiting"}</span>}
          <div class="faint">{step.note}</div>
        </li>
      ))}
    </ol>
  );
}

const STEPS: [string, string][] = [
  ["TemplateResolved", "Template found"],
  ["VMCreated", "Cloned"],
  ["PoweredOn", "Started"],
  ["Attested", "Attested"],
  ["Bootstrapped", "Bootstrapped"],
  ["Ready", "Ready"],
];

function listSteps(claim: MachineClaim): Step[] {
  const conditions = new Map((claim.status?.conditions ?? []).map((each) => [each.type, each]));
  let before = claim.metadata.creationTimestamp;
  const steps: Step[] = [{ label: "Claimed", at: before, note: "", isDone: true }];
  for (const [type, label] of STEPS) {
    const found = conditions.get(type);
    if (!found && type === "Attested") continue; // only machines that must prove themselves
    const at = found?.lastTransitionTime ?? "";
    const isDone = found?.status === "True";
    const took = isDone ? (Date.parse(at) - Date.parse(before)) / 1000 : 0;
    steps.push({ label, at, isDone, note: isDone && took >= 1 ? `after ${formatSeconds(took)}` : (isDone ? "" : (found?.message ?? "")) });
    if (isDone) before = at;
  }
  return steps;
}
