// Line icons, drawn for this page.

const PATHS: Record<string, string> = {
  overview: "M4 13h6V4H4zM14 20h6V4h-6zM4 20h6v-4H4z",
  clusters: "M12 3l8 4.5v9L12 21l-8-4.5v-9zM12 12l8-4.5M12 12v9M12 12L4 7.5",
  applications: "M4 5h16v14H4zM4 9h16M7 7h.01M10 7h.01",
  pipelines: "M4 7h5a3 3 0 013 3v4a3 3 0 003 3h5M17 14l3 3-3 3M4 17h3",
  machines: "M4 5h16v6H4zM4 13h16v6H4zM7 8h.01M7 16h.01M11 8h6M11 16h6",
  experiments: "M9 3h6M10 3v6L4.5 18.5A1.7 1.7 0 006 21h12a1.7 1.7 0 001.5-2.5L14 9V3M7 15h10",
  objects: "M4 6h16M4 12h16M4 18h16M4 6v.01M4 12v.01M4 18v.01",
  search: "M11 18a7 7 0 100-14 7 7 0 000 14zM20 20l-4-4",
  sun: "M12 17a5 5 0 100-10 5 5 0 000 10zM12 2v2M12 20v2M4 12H2M22 12h-2M5 5l1.5 1.5M17.5 17.5L19 19M5 19l1.5-1.5M17.5 6.5L19 5",
  moon: "M20 14.5A8.5 8.5 0 119.5 4a7 7 0 0010.5 10.5z",
  menu: "M4 7h16M4 12h16M4 17h16",
  out: "M14 4h5v16h-5M10 8l-4 4 4 4M6 12h9",
};

export function Icon({ name }: { name: string }) {
  return (
    <svg viewBox="0 0 24 24" fill="none" stroke="currentColor" stroke-width="1.8" stroke-linecap="round" stroke-linejoin="round" aria-hidden="true">
      <path d={PATHS[name] ?? ""} />
    </svg>
  );
}
