/** A command line or a plan that cannot be run. Its message says what to write instead. */
export class WrongCall extends Error {
  override readonly name = 'WrongCall';
}
