/** A call that starts a role and says nothing else: "coordinator", "node 3", "gateway", "worker". */
import type { RoleName } from './roles.ts';

export interface RoleCall {
  readonly role: RoleName;
  /** 0: not a node. */
  readonly nodeId: number;
}

/** From 1; four digits at most. */
export const nodeIdPattern = /^[1-9]\d{0,3}$/;

/** undefined: another command, or one with options or mistakes; the command line reads it. */
export function roleCall([name, id, ...more]: readonly string[]): RoleCall | undefined {
  if (more.length > 0) return undefined;
  if (name === 'node') {
    return id !== undefined && nodeIdPattern.test(id) ? { role: 'node', nodeId: Number(id) } : undefined;
  }
  const isRole = name === 'coordinator' || name === 'gateway' || name === 'worker';
  return isRole && id === undefined ? { role: name, nodeId: 0 } : undefined;
}
