// The life of some objects by the official Node client: create, patch, watch, conflict, informer,
// custom kinds, delete.
import assert from 'node:assert/strict';
import * as k8s from '@kubernetes/client-node';

const config = new k8s.KubeConfig();
config.loadFromDefault();
const core = config.makeApiClient(k8s.CoreV1Api);
const namespace = 'default';

async function refuse(code, reason, call) {
  await assert.rejects(call, (error) => {
    assert.equal(error.code, code);
    assert.equal(JSON.parse(error.body).reason, reason);
    return true;
  });
}

// Resolves when the watch says what is waited for.
function waitFor(path, query, matches) {
  return new Promise((resolve, reject) => {
    let request;
    const seen = (type, object) => {
      if (matches(type, object)) {
        request.then((each) => each.abort());
        resolve(object);
      }
    };
    request = new k8s.Watch(config).watch(path, query, seen, (error) => {
      if (error && error.name !== 'AbortError') reject(error);
    });
  });
}

async function configMaps() {
  const body = { metadata: { name: 'node', labels: { by: 'node' } }, data: { a: '1' } };
  const made = await core.createNamespacedConfigMap({ namespace, body });
  assert.ok(made.metadata.creationTimestamp instanceof Date);
  await refuse(409, 'AlreadyExists', () => core.createNamespacedConfigMap({ namespace, body }));
  const changed = waitFor(
    `/api/v1/namespaces/${namespace}/configmaps`,
    { fieldSelector: 'metadata.name=node' },
    (type, object) => object.data.b === '2',
  );
  await core.patchNamespacedConfigMap(
    { name: 'node', namespace, body: { data: { b: '2' } } },
    k8s.setHeaderOptions('Content-Type', k8s.PatchStrategy.StrategicMergePatch),
  );
  await changed;
  await refuse(409, 'Conflict', () =>
    core.replaceNamespacedConfigMap({ name: 'node', namespace, body: made }),
  );
  const listed = await core.listNamespacedConfigMap({ namespace, labelSelector: 'by=node', limit: 1 });
  assert.equal(listed.items.length, 1);
}

async function inform() {
  const list = () => core.listNamespacedConfigMap({ namespace, labelSelector: 'by=node' });
  const path = `/api/v1/namespaces/${namespace}/configmaps`;
  const informer = k8s.makeInformer(config, path, list, 'by=node');
  const added = new Promise((resolve) => informer.on('add', resolve));
  const deleted = new Promise((resolve) => informer.on('delete', resolve));
  await informer.start();
  assert.equal((await added).metadata.name, 'node');
  await core.deleteNamespacedConfigMap({ name: 'node', namespace });
  assert.equal((await deleted).metadata.name, 'node');
  await informer.stop();
  await refuse(404, 'NotFound', () => core.readNamespacedConfigMap({ name: 'node', namespace }));
}

async function applyByObjectApi() {
  const objects = k8s.KubernetesObjectApi.makeApiClient(config);
  const deployment = {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name: 'node', namespace },
    spec: {
      replicas: 2,
      selector: { matchLabels: { app: 'node' } },
      template: {
        metadata: { labels: { app: 'node' } },
        spec: { containers: [{ name: 'main', image: 'busybox' }] },
      },
    },
  };
  const apply = (manager, force) =>
    objects.patch(deployment, undefined, undefined, manager, force, k8s.PatchStrategy.ServerSideApply);
  assert.equal((await apply('ours', false)).spec.replicas, 2);
  deployment.spec.replicas = 3;
  await refuse(409, 'Conflict', () => apply('theirs', false));
  assert.equal((await apply('theirs', true)).spec.replicas, 3);
  await objects.delete(deployment);
}

async function customKind() {
  const api = config.makeApiClient(k8s.ApiextensionsV1Api);
  const gears = config.makeApiClient(k8s.CustomObjectsApi);
  const [group, version, plural] = ['node.example.com', 'v1', 'gears'];
  const schema = {
    type: 'object',
    properties: {
      spec: { type: 'object', properties: { teeth: { type: 'integer', minimum: 1 } } },
    },
  };
  const established = waitFor(
    '/apis/apiextensions.k8s.io/v1/customresourcedefinitions',
    { fieldSelector: `metadata.name=${plural}.${group}` },
    (type, object) =>
      (object.status?.conditions ?? []).some((each) => each.type === 'Established' && each.status === 'True'),
  );
  await api.createCustomResourceDefinition({
    body: {
      metadata: { name: `${plural}.${group}` },
      spec: {
        group,
        scope: 'Namespaced',
        names: { kind: 'Gear', plural, singular: 'gear' },
        versions: [{ name: version, served: true, storage: true, schema: { openAPIV3Schema: schema } }],
      },
    },
  });
  await established;
  const gear = (teeth) => ({
    apiVersion: `${group}/${version}`,
    kind: 'Gear',
    metadata: { name: 'small' },
    spec: { teeth },
  });
  const place = { group, version, namespace, plural };
  await refuse(422, 'Invalid', () => gears.createNamespacedCustomObject({ ...place, body: gear(0) }));
  await gears.createNamespacedCustomObject({ ...place, body: gear(12) });
  const found = await gears.getNamespacedCustomObject({ ...place, name: 'small' });
  assert.equal(found.spec.teeth, 12);
  await api.deleteCustomResourceDefinition({ name: `${plural}.${group}` });
}

const { major } = await config.makeApiClient(k8s.VersionApi).getCode();
assert.equal(major, '1');
await configMaps();
await inform();
await applyByObjectApi();
await customKind();
console.log('ok');
process.exit(0);
