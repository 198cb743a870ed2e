// Any kind the server serves, as its own table.

import { useMemo, useState } from "preact/hooks";
import type { Resource, TableColumn, TableRow } from "../api/objects";
import { linkTo } from "../api/objects";
import { KINDS } from "../generated/kinds";
import { navigate, usePlace, withQuery } from "../router";
import { useResources } from "../store/discovery";
import { levelOf } from "../store/health";
import { useTable } from "../store/live";
import { Badge, Empty, Loading, PageHead, Panel, Time } from "../ui/basics";
import { useSortedRows } from "../ui/sorted-rows";
import { plural } from "../ui/time";
import { type Column, type Sort, VirtualTable } from "../ui/virtual-table";

export function ObjectsView({ parts }: { parts: string[] }) {
  const resources = useResources();
  const [group, version, name] = parts;
  const resource = resources.find((each) => (each.group || "core") === group && each.resource === name);
  if (!name) return <Kinds resources={resources} />;
  if (!resource) {
    if (resources.length === 0) return <Loading />;
    return <Empty title={`No kind ${name}.${group} in version ${version}`}>It is not installed, or you are not allowed to list it.</Empty>;
  }
  return <Objects key={`${group}/${name}`} resource={resource} />;
}

function Kinds({ resources }: { resources: Resource[] }) {
  const [filter, setFilter] = useState("");
  const ours = new Set<string>(Object.values(KINDS).map((each) => each.group));
  const wanted = resources.filter((each) => `${each.kind} ${each.resource} ${each.group}`.toLowerCase().includes(filter.toLowerCase()));
  const groups = new Map<string, Resource[]>();
  for (const each of wanted) {
    const title = each.group || "core";
    groups.set(title, [...(groups.get(title) ?? []), each]);
  }
  const order = [...groups.keys()].sort((a, b) => Number(ours.has(b)) - Number(ours.has(a)) || a.localeCompare(b));
  return (
    <>
      <PageHead title="Objects" actions={<input class="input" type="search" placeholder="Filter kinds" aria-label="Filter kinds" value={filter} onInput={(event) => setFilter(event.currentTarget.value)} />}>
        <span class="muted">{plural(resources.length, "kind")}</span>
      </PageHead>
      {resources.length === 0 ? (
        <Panel>
          <Loading />
        </Panel>
      ) : (
        <div class="groups">
          {order.map((title) => (
            <Panel key={title} title={title}>
              <ul class="list">
                {(groups.get(title) ?? []).map((each) => (
                  <li key={each.resource}>
                    <a href={`/objects/${title}/${each.version}/${each.resource}`}>{each.kind}</a>
                    <span class="when grow" />
                    <span class="when">{each.version}</span>
                  </li>
                ))}
              </ul>
            </Panel>
          ))}
        </div>
      )}
    </>
  );
}

interface Row {
  row: TableRow;
  text: string;
}

function Objects({ resource }: { resource: Resource }) {
  const { query } = usePlace();
  const namespace = query.get("namespace") ?? "";
  const filter = query.get("filter") ?? "";
  const sort: Sort = { column: query.get("sort") || "Name", isDescending: query.get("order") === "desc" };
  const sorted = useSortedRows<Row>();
  const table = useTable(resource);
  const version = table?.version ?? 0;
  const columns = useMemo(() => buildColumns(resource, table?.columns ?? []), [resource, table?.columns]);
  const all = useMemo(() => [...(table?.items.values() ?? [])].map(toRow), [table, version]);
  const namespaces = useMemo(() => [...new Set(all.map(({ row }) => row.object.metadata.namespace ?? ""))].filter(Boolean).sort(), [all]);
  const rows = useMemo(() => {
    const wanted = filter.toLowerCase();
    const kept = all.filter(({ row, text }) => (!namespace || row.object.metadata.namespace === namespace) && text.includes(wanted));
    return sorted.update(kept, columns, sort);
  }, [all, namespace, filter, columns, sort.column, sort.isDescending]);
  return (
    <>
      <PageHead
        title={resource.kind}
        crumbs={[["Objects", "/objects"], [resource.group || "core", "/objects"]]}
        actions={
          <>
            {resource.namespaced && (
              <select class="input" aria-label="Namespace" value={namespace} onChange={(event) => navigate(withQuery({ namespace: event.currentTarget.value }), { replace: true })}>
                <option value="">All namespaces</option>
                {namespaces.map((each) => (
                  <option key={each} value={each}>
                    {each}
                  </option>
                ))}
              </select>
            )}
            <input class="input" type="search" placeholder="Filter" aria-label="Filter" value={filter} onInput={(event) => navigate(withQuery({ filter: event.currentTarget.value }), { replace: true })} />
          </>
        }
      >
        <span class="muted num" data-testid="count">
          {plural(rows.length, "object")}
        </span>
      </PageHead>
      <Panel>
        {!table || table.load === "loading" ? (
          <Loading rows={8} />
        ) : table.load !== "ready" ? (
          <Empty title={table.load === "forbidden" ? `Listing ${resource.resource} here is forbidden` : "The list cannot be read"}>
            {table.message}
            {table.load === "forbidden" && resource.namespaced && " If you may in one namespace, name it at the lower left."}
          </Empty>
        ) : all.length === 0 ? (
          <Empty title={`No ${resource.kind} yet`} command={`kubectl explain ${resource.resource}${resource.group ? ` --api-version=${resource.group}/${resource.version}` : ""}`}>
            It appears here as soon as one is created.
          </Empty>
        ) : rows.length === 0 ? (
          <Empty title="No object matches the filter" />
        ) : (
          <VirtualTable
            columns={columns}
            rows={rows}
            label={resource.kind}
            sort={sort}
            onSort={(next) => navigate(withQuery({ sort: next.column, order: next.isDescending ? "desc" : "" }), { replace: true })}
          />
        )}
      </Panel>
    </>
  );
}

const described = new WeakMap<TableRow, Row>();

/** A row with its text, the same object for as long as the row is not changed. */
function toRow(row: TableRow): Row {
  let found = described.get(row);
  if (!found) {
    found = { row, text: describe(row) };
    described.set(row, found);
  }
  return found;
}

function describe(row: TableRow): string {
  return `${row.object.metadata.namespace ?? ""} ${row.cells.join(" ")}`.toLowerCase();
}

function buildColumns(resource: Resource, defined: TableColumn[]): Column<Row>[] {
  const columns: Column<Row>[] = [];
  defined.forEach((each, index) => {
    if (each.priority > 0 && defined.length > 8) return;
    if (each.format === "name" || index === 0) {
      columns.push(nameColumn(resource, each, index));
      if (resource.namespaced) columns.push(namespaceColumn());
    } else {
      columns.push(cellColumn(each, index));
    }
  });
  return columns;
}

function nameColumn(resource: Resource, column: TableColumn, index: number): Column<Row> {
  return {
    id: column.name,
    label: column.name,
    width: "minmax(236px, 2.4fr)",
    value: ({ row }) => String(row.cells[index] ?? ""),
    render: ({ row }) => <a href={linkTo(resource, row.object.metadata.namespace, row.object.metadata.name)}>{String(row.cells[index] ?? row.object.metadata.name)}</a>,
  };
}

function namespaceColumn(): Column<Row> {
  return {
    id: "Namespace",
    label: "Namespace",
    width: "minmax(110px, 1fr)",
    value: ({ row }) => row.object.metadata.namespace ?? "",
    render: ({ row }) => <span class="muted">{row.object.metadata.namespace}</span>,
  };
}

function cellColumn(column: TableColumn, index: number): Column<Row> {
  const isAge = column.name === "Age";
  return {
    id: column.name,
    label: column.name,
    width: isAge ? "minmax(92px, 0.6fr)" : column.type === "string" ? "minmax(124px, 1fr)" : "minmax(84px, 0.6fr)",
    value: ({ row }) => (isAge ? -Date.parse(row.object.metadata.creationTimestamp) : ((row.cells[index] ?? "") as string | number)),
    render: ({ row }) => {
      if (isAge) return <Time at={row.object.metadata.creationTimestamp} />;
      const text = String(row.cells[index] ?? "");
      const level = column.type === "string" ? levelOf(text) : null;
      return level ? <Badge level={level}>{text}</Badge> : <span title={text}>{text || "–"}</span>;
    },
  };
}
