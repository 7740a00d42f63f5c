/** A client of a random run: a caller of a tenant, and the choices of its step. */
import type { Draw } from '../../cluster/draw.ts';
import type { Operator } from './operator.ts';
import type { Tenancy } from './tenancy.ts';

export class RunClient {
  protected readonly tenancy: Tenancy;
  protected readonly operator: Operator;
  protected readonly draw: Draw;
  /** The run's other tenants. */
  protected readonly others: readonly Tenancy[];

  constructor(tenancy: Tenancy, operator: Operator, draw: Draw, others: readonly Tenancy[] = []) {
    this.tenancy = tenancy;
    this.operator = operator;
    this.draw = draw;
    this.others = others;
  }
}
