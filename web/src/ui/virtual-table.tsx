// A table of any length: only the rows in sight are in the document.

import type { ComponentChildren } from "preact";
import { useLayoutEffect, useRef, useState } from "preact/hooks";

const ROW = 36;
const EXTRA = 12;

export interface Column<Row> {
  id: string;
  label: string;
  /** A CSS grid track, such as minmax(120px, 2fr). */
  width: string;
  render(row: Row): ComponentChildren;
  /** What to sort by; a column without it is not sorted. */
  value?(row: Row): string | number;
}

export interface Sort {
  column: string;
  isDescending: boolean;
}

export function VirtualTable<Row>(props: {
  columns: Column<Row>[];
  rows: Row[];
  keyOf(row: Row): string;
  label: string;
  sort: Sort;
  onSort(sort: Sort): void;
}) {
  const { columns, rows, sort } = props;
  const scroller = useRef<HTMLDivElement>(null);
  const [range, setRange] = useState({ top: 0, height: 800 });
  useLayoutEffect(() => {
    const node = scroller.current;
    if (!node) return;
    const measure = () => setRange({ top: node.scrollTop, height: node.clientHeight });
    measure();
    node.addEventListener("scroll", measure, { passive: true });
    const observer = new ResizeObserver(measure);
    observer.observe(node);
    return () => {
      node.removeEventListener("scroll", measure);
      observer.disconnect();
    };
  }, []);
  const tracks = columns.map((column) => column.width).join(" ");
  const first = Math.max(0, Math.floor(range.top / ROW) - EXTRA);
  const last = Math.min(rows.length, Math.ceil((range.top + range.height) / ROW) + EXTRA);
  return (
    <div class="grid-table">
      <div class="grid-scroll" ref={scroller} tabIndex={0} role="table" aria-label={props.label} aria-rowcount={rows.length + 1}>
        <div role="rowgroup">
          <div class="grid-head" role="row" aria-rowindex={1} style={{ gridTemplateColumns: tracks }}>
            {columns.map((column) => (
              <div key={column.id} role="columnheader" aria-sort={ariaSort(sort, column.id)}>
                {column.value ? (
                  <button type="button" onClick={() => props.onSort({ column: column.id, isDescending: sort.column === column.id && !sort.isDescending })}>
                    {column.label}
                    {sort.column === column.id ? (sort.isDescending ? " ↓" : " ↑") : ""}
                  </button>
                ) : (
                  <span class="muted">{column.label}</span>
                )}
              </div>
            ))}
          </div>
        </div>
        <div role="rowgroup" style={{ height: `${rows.length * ROW}px` }}>
          {rows.slice(first, last).map((row, index) => (
            <div key={props.keyOf(row)} class="grid-row" role="row" aria-rowindex={first + index + 2} style={{ gridTemplateColumns: tracks, top: `${(first + index) * ROW + 34}px` }}>
              {columns.map((column) => (
                <div key={column.id} role="cell">
                  {column.render(row)}
                </div>
              ))}
            </div>
          ))}
        </div>
      </div>
    </div>
  );
}

function ariaSort(sort: Sort, column: string): "ascending" | "descending" | "none" {
  if (sort.column !== column) return "none";
  return sort.isDescending ? "descending" : "ascending";
}

/** Rows in the order of a column. */
export function sortRows<Row>(rows: Row[], columns: Column<Row>[], sort: Sort): Row[] {
  const value = columns.find((column) => column.id === sort.column)?.value;
  if (!value) return rows;
  const sign = sort.isDescending ? -1 : 1;
  const keyed = rows.map((row) => [value(row), row] as const);
  keyed.sort(([a], [b]) => sign * compare(a, b));
  return keyed.map(([, row]) => row);
}

const collator = new Intl.Collator("en", { numeric: true });

function compare(a: string | number, b: string | number): number {
  return typeof a === "number" && typeof b === "number" ? a - b : collator.compare(String(a), String(b));
}
