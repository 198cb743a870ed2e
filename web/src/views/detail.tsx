// The frame of a page about one of our objects: its own parts first, then events and why.

import type { ComponentChildren } from "preact";
import { type KubeObject, type Resource, linkTo } from "../api/objects";
import { mayI } from "../api/session";
import { useAsync } from "../store/async";
import { assess } from "../store/health";
import { useObject } from "../store/live";
import { Empty, HealthBadge, Loading, PageHead } from "../ui/basics";
import { Conditions } from "./object";
import { ObjectEvents } from "./object-events";
import { Why } from "./object-why";

export function Detail<Item>(props: {
  resource: Resource;
  namespace: string;
  name: string;
  crumbs: [string, string][];
  children(item: Item): ComponentChildren;
}) {
  const { resource, namespace, name } = props;
  const live = useObject(resource, namespace, name);
  const object: KubeObject | undefined = live.items[0];
  const page = linkTo(resource, namespace, name);
  const mayEdit = useAsync(() => mayI("update", resource, namespace, name), [page]).value ?? false;
  return (
    <>
      <PageHead
        title={name}
        crumbs={props.crumbs}
        actions={object && (
          <>
            <a class="button" href={`${page}?tab=owners`}>
              Owners
            </a>
            <a class="button" href={`${page}?tab=yaml`}>
              YAML
            </a>
            {mayEdit && (
              <a class="button" href={`${page}?tab=edit`}>
                Edit
              </a>
            )}
          </>
        )}
      >
        {object && <HealthBadge health={assess(object)} />}
        {object && <span class="muted">{assess(object).message}</span>}
      </PageHead>
      {!object ? (
        live.load === "loading" ? (
          <Loading />
        ) : (
          <Empty title={live.load === "forbidden" ? `Reading this ${resource.kind} is forbidden` : `${resource.kind} ${name} not found`}>{live.message || "It appears here as soon as it exists."}</Empty>
        )
      ) : (
        <div class="stack">
          {props.children(object as Item)}
          <div class="columns">
            <Conditions object={object} />
            <ObjectEvents object={object} class="span-6" />
            <Why resource={resource} object={object} class="span-12" />
          </div>
        </div>
      )}
    </>
  );
}
