/** A call that starts a role, without options: "coordinator", "node 3", "node 1 2 3", "gateway", "worker". */
import type { RoleName } from './roles.ts';

export interface RoleCall {
  readonly role: RoleName;
  /** Empty: not a call of nodes. */
  readonly nodeIds: readonly number[];
}

/** From 1; at most four digits. */
export const nodeIdPattern = /^[1-9]\d{0,3}$/;

/** undefined: another command, or one with options or mistakes; the command line parses it. */
export function roleCall([name, ...ids]: readonly string[]): RoleCall | undefined {
  if (name === 'node') {
    const areIds = ids.length > 0 && ids.every((id) => nodeIdPattern.test(id)) && new Set(ids).size === ids.length;
    return areIds ? { role: 'node', nodeIds: ids.map(Number) } : undefined;
  }
  const isRole = name === 'coordinator' || name === 'gateway' || name === 'worker';
  return isRole && ids.length === 0 ? { role: name, nodeIds: [] } : undefined;
}
