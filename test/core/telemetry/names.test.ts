/** docs/metrics.md and the Grafana dashboard name what there is. */
import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { metricFamilies } from '../../../tools/docs/metrics.ts';

const read = (path: string) => readFileSync(new URL(`../../../${path}`, import.meta.url), 'utf8');
/** Of Node and the process: prom-client's own. */
const own = /^(process|nodejs)_/;

test('every metric has a help, a unit as its suffix, and labels of few values', () => {
  const families = metricFamilies();
  expect(families.length).toBeGreaterThan(10);
  expect(new Set(families.map(({ name }) => name)).size).toBe(families.length);
  for (const { name, help, labels } of families) {
    expect(name).toMatch(/^signmesh_[a-z_]+$/);
    expect(help.length).toBeGreaterThan(10);
    for (const label of labels) expect(['tenant', 'session', 'id', 'path', 'url']).not.toContain(label);
  }
});

test('the dashboard asks for metrics and labels that there are', () => {
  const dashboard = read('docs/grafana/signmesh.json');
  const known = new Map(metricFamilies().map(({ name, labels }) => [name, labels]));
  const expressions = [...dashboard.matchAll(/"expr": "((?:[^"\\]|\\.)*)"/g)].map(([, text]) => text!);
  expect(expressions.length).toBeGreaterThan(8);
  for (const text of expressions) {
    const names = [...text.matchAll(/\b((?:signmesh|process|nodejs)_[a-z0-9_]+)\b/g)].map(([, name]) => name!);
    expect(names.length, text).toBeGreaterThan(0);
    for (const name of names) {
      const family = name.replace(/_(bucket|sum|count)$/, '');
      if (!own.test(name)) expect(known.has(family), `${name} in ${text}`).toBe(true);
    }
    const [, grouped = ''] = /by \(([^)]*)\)/.exec(text) ?? [];
    const labels = names.flatMap((name) => [...(known.get(name.replace(/_(bucket|sum|count)$/, '')) ?? [])]);
    for (const label of grouped
      .split(',')
      .map((each) => each.trim())
      .filter(Boolean)) {
      expect(['le', 'role', 'node', 'instance', 'process', ...labels], text).toContain(label);
    }
  }
});
