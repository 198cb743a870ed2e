import assert from "node:assert/strict";
import { test } from "node:test";
import { listResources } from "../src/store/discovery";

const describe = (resource, kind, verbs = ["get", "list"]) => ({ resource, responseKind: { kind }, scope: "Namespaced", verbs });

test("each kind is listed once, in the most preferred version that serves it", () => {
  const versions = [
    { version: "v1", resources: [describe("jobs", "Job"), describe("reviews", "Review", ["create"])] },
    { version: "v1beta1", resources: [describe("jobs", "Job"), describe("cronjobs", "CronJob")] },
  ];
  const found = listResources([{ items: [{ metadata: { name: "batch" }, versions }] }]);
  assert.deepEqual(found.map(({ resource, version }) => `${resource} ${version}`), ["cronjobs v1beta1", "jobs v1"]);
});
