/** An invalid command line or plan. Its message names the remedy. */
export class WrongCall extends Error {
  override readonly name = 'WrongCall';
}
