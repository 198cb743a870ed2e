// A list of objects of one of our kinds, with columns of the view's choice.

import type { ComponentChildren } from "preact";
import type { KubeObject } from "../api/objects";
import type { Live } from "../store/live";
import { Empty, Loading } from "../ui/basics";

export interface Cell<Item> {
  label: string;
  isNumber?: boolean;
  render(item: Item): ComponentChildren;
}

export function KindTable<Item>(props: {
  live: Live<Item>;
  cells: Cell<Item>[];
  empty: ComponentChildren;
  label: string;
}) {
  const { live, cells } = props;
  const meta = (item: Item) => (item as KubeObject).metadata;
  if (live.load === "loading") return <Loading />;
  if (live.load === "forbidden") return <Empty title={`${props.label} are not shown to you`}>{live.message}</Empty>;
  if (live.load !== "ready") return <Empty title={`${props.label} cannot be read`}>{live.message}</Empty>;
  if (live.items.length === 0) return <>{props.empty}</>;
  const items = live.items.sort((a, b) => key(meta(a)).localeCompare(key(meta(b))));
  return (
    <div class="scroll-x" tabIndex={0} role="region" aria-label={props.label}>
      <table class="plain">
        <thead>
          <tr>
            {cells.map((cell) => (
              <th key={cell.label} class={cell.isNumber ? "num" : undefined}>
                {cell.label}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {items.map((item) => (
            <tr key={meta(item).uid}>
              {cells.map((cell) => (
                <td key={cell.label} class={cell.isNumber ? "num" : undefined}>
                  {cell.render(item)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function key(meta: { namespace?: string; name: string }): string {
  return `${meta.namespace ?? ""}/${meta.name}`;
}
