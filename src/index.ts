import {
  ILayoutRestorer,
  JupyterFrontEnd,
  JupyterFrontEndPlugin
} from '@jupyterlab/application';
import { Clipboard, ICommandPalette, Notification } from '@jupyterlab/apputils';
import { IEditorLanguageRegistry } from '@jupyterlab/codemirror';
import { INotebookTracker } from '@jupyterlab/notebook';
import { PageConfig } from '@jupyterlab/coreutils';
import { IRenderMimeRegistry } from '@jupyterlab/rendermime';
import { ISettingRegistry } from '@jupyterlab/settingregistry';
import { IStatusBar } from '@jupyterlab/statusbar';
import { ITranslator, nullTranslator } from '@jupyterlab/translation';
import { DoctorClient } from './api';
import { Archive } from './archive';
import { CulpritLine } from './culpritLine';
import { CulpritMarks } from './culpritMarks';
import { highlighter, plainCode } from './highlight';
import { doctorIcon } from './icons';
import { Inspector } from './inspector';
import { Kernels } from './kernels';
import { LiveFeed } from './live';
import { PostMortems } from './model';
import { News } from './news';
import { Notebooks } from './notebooks';
import { asDeath, notifyOfDeath, notifyOfHang } from './notifications';
import { openPage } from './pages';
import { KernelDoctorPanel } from './panel';
import { PeakMarks } from './peakMarks';
import { Reruns } from './reruns';
import { TrialClient } from './trialClient';
import { Trials } from './trials';
import { Usage } from './usage';

const OPEN = 'kerneldoctor:open';
const INSPECT = 'kerneldoctor:inspect';

const plugin: JupyterFrontEndPlugin<void> = {
  id: 'jupyter-kerneldoctor:plugin',
  description:
    'Shows why a kernel died, which line did it, and what to change.',
  autoStart: true,
  requires: [INotebookTracker],
  optional: [
    ITranslator,
    ISettingRegistry,
    ICommandPalette,
    ILayoutRestorer,
    IStatusBar,
    IRenderMimeRegistry,
    IEditorLanguageRegistry
  ],
  activate
};

function activate(
  app: JupyterFrontEnd,
  tracker: INotebookTracker,
  translator: ITranslator | null,
  settingRegistry: ISettingRegistry | null,
  palette: ICommandPalette | null,
  restorer: ILayoutRestorer | null,
  statusBar: IStatusBar | null,
  rendermime: IRenderMimeRegistry | null,
  languages: IEditorLanguageRegistry | null
): void {
  const trans = (translator ?? nullTranslator).load('jupyter_kerneldoctor');
  const client = new DoctorClient(app.serviceManager.serverSettings);
  const model = new PostMortems(client);
  const inspector = new Inspector(client);
  const live = new LiveFeed(app.serviceManager.serverSettings);
  const notebooks = new Notebooks(
    tracker,
    id => app.shell.activateById(id),
    PageConfig.getOption('serverRoot'),
    path => void app.commands.execute('docmanager:open', { path })
  );
  const panel = new KernelDoctorPanel({
    trans,
    model,
    inspector,
    archive: new Archive(app.serviceManager.serverSettings, trans),
    notebooks,
    reruns: new Reruns(notebooks, live),
    trials: new Trials(
      new TrialClient(app.serviceManager.serverSettings),
      trans
    ),
    highlight: languages ? highlighter(languages) : plainCode,
    docsUrl: path => client.docsUrl(path),
    openPage: path => {
      if (rendermime) {
        void openPage(app, rendermime, client, path);
      } else {
        window.open(client.docsUrl(path), '_blank', 'noopener');
      }
    },
    copy: text => Clipboard.copyToSystem(text),
    live,
    kernels: new Kernels(app.serviceManager, trans)
  });
  app.shell.add(panel, 'right', { rank: 900, type: 'Kernel Doctor' });
  restorer?.add(panel, panel.id);
  const usage = new Usage(live, notebooks, panel, trans, () =>
    app.shell.activateById(panel.id)
  );
  if (statusBar) {
    usage.addTo(statusBar);
  }
  let tellOfHangs = true;
  const news = new News(live, model, stuck => {
    if (!tellOfHangs || panel.isVisible) {
      return null;
    }
    const { recording } = stuck;
    const show = () => void app.commands.execute(OPEN, { recording });
    const id = notifyOfHang(trans, stuck, show);
    return { dismiss: () => Notification.dismiss(id) };
  });
  panel.visibility.connect(() => {
    if (panel.isVisible) {
      news.seen();
    }
  });
  const peaks = new PeakMarks(notebooks, live, trans);
  const culprits = new CulpritMarks(
    model,
    notebooks,
    recording => client.report(recording),
    (mark, close) => {
      const { recording } = mark.report;
      const show = () => void app.commands.execute(OPEN, { recording });
      return new CulpritLine(mark, trans, show, close);
    }
  );

  app.commands.addCommand(OPEN, {
    label: trans.__('Show Why a Kernel Died'),
    caption: trans.__('Show the post-mortem of the last kernel that died'),
    icon: doctorIcon,
    describedBy: {
      args: {
        type: 'object',
        properties: {
          recording: {
            type: 'string',
            description: trans.__(
              'The recording to show; by default the newest death'
            )
          }
        }
      }
    },
    execute: async args => {
      app.shell.activateById(panel.id);
      const { recording } = args;
      await model.open(typeof recording === 'string' ? recording : null);
    }
  });
  app.commands.addCommand(INSPECT, {
    label: trans.__('What Is the Kernel Doing?'),
    caption: trans.__(
      'Show what each thread of this notebook’s kernel is doing'
    ),
    icon: doctorIcon,
    describedBy: { args: { type: 'object', properties: {} } },
    isEnabled: () => notebooks.currentKernel !== null,
    execute: async () => {
      const { currentKernel } = notebooks;
      app.shell.activateById(panel.id);
      if (currentKernel) {
        await inspector.inspect({ kernel_id: currentKernel.kernel_id });
        await model.refresh();
      }
    }
  });
  for (const command of [OPEN, INSPECT]) {
    palette?.addItem({ command, category: trans.__('Kernel Operations') });
  }

  let front = '';
  notebooks.changed.connect(() => {
    const now = JSON.stringify(notebooks.front);
    if (now !== front) {
      front = now;
      model.follow(notebooks.front && (place => notebooks.isInFront(place)));
      if (panel.isVisible) {
        void model.refresh();
      }
    }
  });

  let notify = true;
  let openOnDeath = true;
  void settingRegistry
    ?.load(plugin.id)
    .then(settings => {
      const read = () => {
        const isOn = (name: string) => settings.get(name).composite !== false;
        notify = isOn('notifyOnDeath');
        openOnDeath = isOn('openOnDeath');
        tellOfHangs = isOn('notifyOfHang');
        usage.apply({
          showHeadroom: isOn('showHeadroom'),
          warnOfGrowth: isOn('warnOfGrowth'),
          showPeaks: isOn('showPeaks'),
          markCulprits: isOn('markCulprits'),
          notifyOfHang: tellOfHangs
        });
        peaks.isOn = isOn('showPeaks');
        culprits.isOn = isOn('markCulprits');
      };
      read();
      settings.changed.connect(read);
    })
    .catch(error =>
      console.warn('KernelDoctor could not read its settings.', error)
    );

  app.serviceManager.events.stream.connect((_, event) => {
    const death = asDeath(event);
    if (!death) {
      return;
    }
    const { recording } = death;
    const show = () => void app.commands.execute(OPEN, { recording });
    const isShown = openOnDeath && notebooks.isInFront(death);
    if (isShown) {
      show();
    } else {
      void model.refresh();
    }
    if (notify) {
      notifyOfDeath(trans, death, isShown ? null : show, live);
    }
  });
  // The event stream has no replay: read once what happened before this page was opened.
  void app.restored.then(() => model.refresh());
}

export default plugin;
