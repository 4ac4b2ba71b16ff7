/** How to run the cases. Without `command` and `profile`, the file `acp-conformance.toml` of the project says it. */
export interface Options {
  /** The party under test. The default is `agent` if there is a `command` or a `profile`. */
  subject?: 'agent' | 'client';
  /** The command line of the subject, as words. That of a client contains `{agent}`. */
  command?: readonly string[];
  /** A profile: a file, or the name of a built-in one. */
  profile?: string;
  /** Options of `acp-conformance agent` or `client`, as words, such as `['--expected', 'expected.toml']`. */
  options?: readonly string[];
  /** The directory to start in. */
  cwd?: string;
  /** Variables in addition to those of this process. */
  env?: Readonly<Record<string, string>>;
  /** The result of a test whose case is undecided. The default is `skip`. */
  inconclusive?: 'skip' | 'fail';
  /**
   * The full name of the `describe` block around the tests, if there is one. Patterns of the test runner (`-t`,
   * `--test-name-pattern`) select the cases to run, and they may contain it.
   */
  group?: string;
}

export type Verdict = 'pass' | 'fail' | 'inconclusive' | 'not-applicable' | 'not-exercised' | 'harness-error';
export type Level = 'must' | 'should';

/** The report of a run. `acp-conformance schema report` prints the schema of all of it. */
export interface Report {
  format: string;
  suite: { version: string; edition: string };
  subject: { kind: 'agent' | 'client'; command: string[]; name: string | null; version: string | null };
  verdict: 'conformant' | 'passed' | 'incomplete' | 'not-conformant' | 'harness-error';
  strict?: boolean;
  /** Whether the run was a selection of cases, which cannot show that the subject is conformant. */
  selection?: boolean;
  requirements: Requirement[];
  cases: Case[];
  summary: { requirements: Record<Verdict, number>; cases: Record<Verdict, number>; durationMs: number };
  [member: string]: unknown;
}

/** The result for one requirement. */
export interface Requirement {
  id: string;
  level: Level;
  verdict: Verdict;
  text: string;
  link?: string;
  findings: Finding[];
  hints?: Record<string, string>;
  [member: string]: unknown;
}

/** An observation that is not a pass, with its evidence. */
export interface Finding {
  case: string;
  verdict: Verdict;
  kind: string;
  fields?: Record<string, unknown>;
  text: string;
  lines: string[];
  [member: string]: unknown;
}

/** The result of one case. */
export interface Case {
  id: string;
  title?: string;
  verdict: Verdict;
  durationMs: number;
  reason?: string;
  [member: string]: unknown;
}

/** A case as a test. */
export interface CaseTest {
  id: string;
  /** The id and the title. */
  name: string;
  verdict: Verdict;
  result: 'pass' | 'fail' | 'skip';
  /** The failed requirements with their evidence and the command that repeats the case, or the reason to skip it. */
  message: string;
}

/** The function `test` or `it` of vitest, jest or node:test. */
export interface TestFunction {
  (name: string, body: (context?: any) => void): unknown;
  skip(name: string, body: () => void): unknown;
}

/**
 * Runs the cases whose tests the test runner selects by name (`-t`, `--test-name-pattern`), and returns the report.
 *
 * Rejects if the subject does not start, the run ended early, or the options are wrong.
 */
export function run(options: Options): Promise<Report>;

/** Does the same as `run`, for a test runner that defines its tests without waiting: jest. */
export function runSync(options: Options): Report;

/** Returns the results of the cases as tests. */
export function testsOf(report: Report): CaseTest[];

/** Defines one test per case with `test` of vitest, jest or node:test. */
export function addTests(test: TestFunction, report: Report): void;
