import { framePromise } from '@jupyterlab/testing';
import { Signal } from '@lumino/signaling';
import { Widget } from '@lumino/widgets';
import { IRecordingRow, IReport } from '../api';
import { IArchive } from '../archive';
import { plainCode } from '../highlight';
import { IInspection, IInspectionRefusal } from '../rest';
import { Inspector } from '../inspector';
import { PostMortems } from '../model';
import { ILive, ILiveFeed } from '../live';
import { Notebooks } from '../notebooks';
import { KernelDoctorPanel } from '../panel';
import { IReruns } from '../reruns';
import { TrialNews } from '../trialClient';
import { ITrialPlan, ITrialRefusal } from '../rest';
import { Trials } from '../trials';
import { OLD, openNotebook, report, row, trackerOf, trans } from './fixtures';
import { inspection } from './inspections';

let panel: KernelDoctorPanel;

/** Take the panel away again. */
export const dispose = () => panel?.dispose();

export interface IServerState {
  rows?: IRecordingRow[];
  report?: IReport;
  error?: Error;
  source?: string;
  inspection?: IInspection | IInspectionRefusal;
  live?: ILive;
  plan?: ITrialPlan | ITrialRefusal;
  /** What the server tells of a trial; without an outcome it goes on until it is stopped. */
  news?: TrialNews[];
}

/** Show a panel with the real model on a server that answers so. */
export async function show(state: IServerState) {
  const inspected: string[] = [];
  let lists = 0;
  const server = {
    list: async () => {
      lists += 1;
      if (state.error) {
        throw state.error;
      }
      return state.rows ?? [row()];
    },
    report: async (recording: string) => ({
      ...(state.report ?? report()),
      recording
    }),
    inspect: async (recording: string) => {
      inspected.push(recording);
      return state.inspection ?? inspection();
    }
  };
  const model = new PostMortems(server);
  const trials = new Trials(
    {
      plan: async () => state.plan!,
      run: async (_recording, _fix, tell, signal) => {
        state.news!.forEach(tell);
        if (state.news!.every(({ what }) => what !== 'over')) {
          await new Promise((_, abort) => (signal.onabort = abort));
        }
      }
    },
    trans
  );
  const open = openNotebook([{ id: 'c8', source: state.source ?? OLD }]);
  const copied: string[] = [];
  const deleted: string[] = [];
  const archive: IArchive = {
    storage: async () => ({ directory: '/home/ada', bytes: 3 * 2 ** 20 }),
    remove: async rows => {
      deleted.push(...rows.map(({ recording }) => recording));
      return true;
    },
    copyMarkdown: async ({ recording }) => void copied.push(recording),
    saveHtml: async ({ recording }) => void copied.push(recording)
  };
  const live = {
    changed: new Signal<ILiveFeed, void>({} as ILiveFeed),
    shown: state.live ?? null
  };
  panel = new KernelDoctorPanel({
    trans,
    model,
    inspector: new Inspector(server),
    archive,
    notebooks: new Notebooks(
      trackerOf(open.panel),
      () => undefined,
      '/srv/notebooks'
    ),
    docsUrl: path => `http://host/${path}`,
    copy: text => copied.push(text),
    live,
    reruns: {
      changed: new Signal<IReruns, void>({} as IReruns),
      stateOf: () => null,
      changedCells: () => null,
      goOn: async () => undefined,
      lastCell: () => 5,
      start: () => Promise.resolve()
    },
    trials,
    highlight: plainCode,
    openPage: path => copied.push(path),
    kernels: { notebookOf: () => 'other.ipynb', shutDown: jest.fn() }
  });
  Widget.attach(panel, document.body);
  await model.refresh();
  await settled();
  const tell = async (now: ILive) => {
    live.shown = now;
    live.changed.emit();
    await settled();
  };
  const counted = () => lists;
  return {
    ...open,
    copied,
    deleted,
    inspected,
    model,
    feed: live,
    tell,
    counted
  };
}

export async function settled() {
  await framePromise();
  await panel.renderPromise;
  await framePromise();
}

export const text = () => panel.node.textContent ?? '';
export const all = (selector: string) =>
  Array.from(panel.node.querySelectorAll(selector));
export const button = (label: string) =>
  all('button, jp-button').find(node => node.textContent === label) as
    HTMLElement | undefined;

export async function click(label: string) {
  button(label)!.click();
  await settled();
}
