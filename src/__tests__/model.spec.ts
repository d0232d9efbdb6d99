import { ApiError, IRecordingRow, IReport } from '../api';
import { PostMortems } from '../model';
import { report, row } from './fixtures';

class Server {
  constructor(public rows: IRecordingRow[]) {}

  error: Error | null = null;
  /** While true, reports are answered only at `release`. */
  hold = false;
  reports = 0;

  async list(): Promise<IRecordingRow[]> {
    if (this.error) {
      throw this.error;
    }
    return this.rows;
  }

  async report(recording: string): Promise<IReport> {
    this.reports += 1;
    if (this.hold) {
      await new Promise<void>(resolve => this._held.push(resolve));
    }
    return report({ recording });
  }

  release(): void {
    this._held.splice(0).forEach(go => go());
  }

  private _held: (() => void)[] = [];
}

const shown = (model: PostMortems) =>
  model.view.kind === 'report' ? model.view.report.recording : model.view.kind;

it('is empty when kernels live or ended in the ordinary way', async () => {
  const model = new PostMortems(
    new Server([row({ state: 'running', ended: null })])
  );
  expect(shown(model)).toBe('loading');
  await model.refresh();
  expect(shown(model)).toBe('empty');
  expect(model.cases).toEqual([]);
});

it('shows the newest death, and follows when there is a newer one', async () => {
  const fake = new Server([row({ recording: 'r1' })]);
  const model = new PostMortems(fake);
  await model.refresh();
  expect(shown(model)).toBe('r1');
  fake.rows = [row({ recording: 'r2' }), ...fake.rows];
  await model.refresh();
  expect(shown(model)).toBe('r2');
  expect(fake.reports).toBe(2);
});

it('shows what a kernel survived, and again when it survived more', async () => {
  const survivor = { state: 'survived', ended: null } as const;
  const fake = new Server([
    row({ ...survivor, survived: 'Once.', headline: 'Once.' })
  ]);
  const model = new PostMortems(fake);
  await model.refresh();
  await model.refresh();
  expect(shown(model)).toBe('r1');
  expect(fake.reports).toBe(1);
  fake.rows = [row({ ...survivor, survived: 'Twice.', headline: 'Twice.' })];
  await model.refresh();
  expect(fake.reports).toBe(2);
});

it('stays at the one that was asked for, and lists the newer one', async () => {
  const fake = new Server([row({ recording: 'r2' }), row({ recording: 'r1' })]);
  const model = new PostMortems(fake);
  await model.open('r1');
  fake.rows = [row({ recording: 'r3' }), ...fake.rows];
  await model.refresh();
  expect(shown(model)).toBe('r1');
  expect(model.cases[0].recording).toBe('r3');
});

it('leaves the one that was asked for when that is deleted, and asks no more for it', async () => {
  const fake = new Server([row({ recording: 'r2' }), row({ recording: 'r1' })]);
  const model = new PostMortems(fake);
  await model.open('r1');
  expect(shown(model)).toBe('r1');
  fake.rows = fake.rows.slice(0, 1);
  await model.refresh();
  expect(shown(model)).toBe('r2');
});

it('an answer that comes too late does not replace a newer choice', async () => {
  const fake = new Server([row({ recording: 'r2' }), row({ recording: 'r1' })]);
  const model = new PostMortems(fake);
  fake.hold = true;
  const first = model.open('r1');
  await new Promise(resolve => setTimeout(resolve));
  fake.hold = false;
  await model.open('r2');
  fake.release();
  await first;
  expect(shown(model)).toBe('r2');
});

it('says what failed, and recovers', async () => {
  const fake = new Server([row()]);
  const model = new PostMortems(fake);
  fake.error = new ApiError('unreachable', 'gone');
  await model.refresh();
  expect(model.view).toMatchObject({
    kind: 'error',
    error: { failure: 'unreachable' }
  });
  fake.error = null;
  await model.refresh();
  expect(shown(model)).toBe('r1');
});

it('takes an answer of the wrong shape for a failure', async () => {
  const fake = new Server({ message: 'x' } as unknown as IRecordingRow[]);
  const model = new PostMortems(fake);
  await model.refresh();
  expect(model.view).toMatchObject({ error: { failure: 'failed' } });
});
