// A table of any length: only the rows in sight are in the document.

import { Component, type ComponentChildren } from "preact";
import { useLayoutEffect, useRef, useState } from "preact/hooks";

const ROW = 36;
const EXTRA = 6;
/** Rows are added and removed in groups of this many, so that most scrolling renders nothing. */
const STEP = 4;
/** On paper there is no scrolling: so many rows are printed. */
const PRINTED = 2_000;

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
  label: string;
  sort: Sort;
  onSort(sort: Sort): void;
}) {
  const { columns, rows, sort } = props;
  const scroller = useRef<HTMLDivElement>(null);
  const range = useRange(scroller);
  const tracks = columns.map((column) => column.width).join(" ");
  const last = Math.min(rows.length, range.last + range.extra);
  const first = Math.max(0, Math.min(range.first, last) - range.extra);
  // elements of rows that leave are used again for those that come: making new ones takes longer
  const slots = range.last - range.first + 2 * EXTRA;
  return (
    <div class="grid-table">
      <div class="grid-scroll" style={{ "--tracks": tracks }} ref={scroller} tabIndex={0} role="table" aria-label={props.label} aria-rowcount={rows.length + 1}>
        <div role="rowgroup">
          <div class="grid-head" role="row" aria-rowindex={1}>
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
            <Line key={(first + index) % slots} row={row} columns={columns} index={first + index} />
          ))}
        </div>
      </div>
    </div>
  );
}

/** One row; rendered again only if it is another row or in another place. */
class Line<Row> extends Component<{ row: Row; columns: Column<Row>[]; index: number }> {
  override shouldComponentUpdate(next: { row: Row; columns: Column<Row>[]; index: number }): boolean {
    const { row, columns, index } = this.props;
    return next.row !== row || next.index !== index || next.columns !== columns;
  }

  render() {
    const { row, columns, index } = this.props;
    return (
      <div class="grid-row" role="row" aria-rowindex={index + 2} style={{ transform: `translateY(${index * ROW}px)` }}>
        {columns.map((column) => (
          <div key={column.id} role="cell">
            {column.render(row)}
          </div>
        ))}
      </div>
    );
  }
}

interface Range {
  first: number;
  last: number;
  /** How many rows are kept above and below. */
  extra: number;
}

/**
 * The rows in sight; measured at most once a frame, and the same object while they are the same.
 *
 * After a jump to where no row is kept, a frame makes those in sight only, and the next one those
 * around them: fast scrolling, which jumps in every frame, makes half as many.
 */
function useRange(scroller: { current: HTMLDivElement | null }): Range {
  const [range, setRange] = useState<Range>({ first: 0, last: Math.ceil(800 / ROW), extra: EXTRA });
  useLayoutEffect(() => {
    const node = scroller.current;
    if (!node) return;
    let frame = 0;
    const measure = () => {
      frame = 0;
      const first = Math.floor(node.scrollTop / ROW / STEP) * STEP;
      const last = first + (Math.ceil(node.clientHeight / ROW / STEP) + 1) * STEP; // never one group more or less
      setRange((before) => {
        const isJump = first >= before.last || last <= before.first;
        if (isJump) plan();
        const extra = isJump ? 0 : EXTRA;
        return before.first === first && before.last === last && before.extra === extra ? before : { first, last, extra };
      });
    };
    const plan = () => {
      frame ||= requestAnimationFrame(measure);
    };
    const showAll = () => setRange({ first: 0, last: PRINTED, extra: 0 });
    measure();
    addEventListener("beforeprint", showAll);
    addEventListener("afterprint", measure);
    node.addEventListener("scroll", plan, { passive: true });
    const observer = new ResizeObserver(plan);
    observer.observe(node);
    return () => {
      cancelAnimationFrame(frame);
      removeEventListener("beforeprint", showAll);
      removeEventListener("afterprint", measure);
      node.removeEventListener("scroll", plan);
      observer.disconnect();
    };
  }, []);
  return range;
}

function ariaSort(sort: Sort, column: string): "ascending" | "descending" | "none" {
  if (sort.column !== column) return "none";
  return sort.isDescending ? "descending" : "ascending";
}
