// Events about one object, newest first.

import { type KubeEvent, type KubeObject, type Resource, compareEvents, eventTime } from "../api/objects";
import { useObjects } from "../store/live";
import { Badge, Empty, Loading, Panel, Time } from "../ui/basics";

const EVENTS: Resource = { group: "", version: "v1", resource: "events", kind: "Event", namespaced: true };

export function ObjectEvents({ object, class: extra }: { object: KubeObject; class?: string }) {
  const selector = `fieldSelector=${encodeURIComponent(`involvedObject.uid=${object.metadata.uid}`)}`;
  const events = useObjects<KubeEvent>(EVENTS, object.metadata.namespace || "default", selector);
  const shown = events.items.sort(compareEvents);
  return (
    <Panel class={extra} title="Events">
      {events.load === "loading" ? (
        <Loading />
      ) : shown.length === 0 ? (
        <Empty title={events.load === "forbidden" ? "Events are not shown to you" : "No events"}>Events are kept for an hour.</Empty>
      ) : (
        <ul class="list" data-testid="events">
          {shown.map((event) => (
            <li key={event.metadata.uid}>
              <Badge level={event.type === "Warning" ? "warn" : "idle"}>{event.type ?? "Normal"}</Badge>
              <div class="what">
                <strong>{event.reason}</strong>
                {(event.count ?? 1) > 1 && <span class="faint"> ×{event.count}</span>}
                <p>{event.message}</p>
              </div>
              <span class="when">
                <Time at={eventTime(event)} />
              </span>
            </li>
          ))}
        </ul>
      )}
    </Panel>
  );
}
