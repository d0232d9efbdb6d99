import {
  ILayoutRestorer,
  JupyterFrontEnd,
  JupyterFrontEndPlugin
} from '@jupyterlab/application';
import { Clipboard, ICommandPalette } from '@jupyterlab/apputils';
import { INotebookTracker } from '@jupyterlab/notebook';
import { PageConfig } from '@jupyterlab/coreutils';
import { ISettingRegistry } from '@jupyterlab/settingregistry';
import { IStatusBar } from '@jupyterlab/statusbar';
import { ITranslator, nullTranslator } from '@jupyterlab/translation';
import { DoctorClient } from './api';
import { doctorIcon } from './icons';
import { Inspector } from './inspector';
import { Kernels } from './kernels';
import { LiveFeed } from './live';
import { PostMortems } from './model';
import { Notebooks } from './notebooks';
import { asDeath, notifyOfDeath } from './notifications';
import { KernelDoctorPanel } from './panel';
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
    IStatusBar
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
  statusBar: IStatusBar | null
): void {
  const trans = (translator ?? nullTranslator).load('jupyter_kerneldoctor');
  const client = new DoctorClient(app.serviceManager.serverSettings);
  const model = new PostMortems(client);
  const inspector = new Inspector(client);
  const live = new LiveFeed(app.serviceManager.serverSettings);
  const notebooks = new Notebooks(
    tracker,
    id => app.shell.activateById(id),
    PageConfig.getOption('serverRoot')
  );
  const panel = new KernelDoctorPanel({
    trans,
    model,
    inspector,
    notebooks,
    docsUrl: path => client.docsUrl(path),
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

  let notify = true;
  void settingRegistry
    ?.load(plugin.id)
    .then(settings => {
      const read = () => {
        const isOn = (name: string) => settings.get(name).composite !== false;
        notify = isOn('notifyOnDeath');
        usage.apply({
          showHeadroom: isOn('showHeadroom'),
          warnOfGrowth: isOn('warnOfGrowth')
        });
      };
      read();
      settings.changed.connect(read);
    })
    .catch(error =>
      console.warn('KernelDoctor could not read its settings.', error)
    );

  app.serviceManager.events.stream.connect((_, event) => {
    const death = asDeath(event);
    if (death) {
      void model.refresh();
      if (notify) {
        notifyOfDeath(trans, death, () => {
          void app.commands.execute(OPEN, { recording: death.recording });
        });
      }
    }
  });
  // The event stream has no replay: read once what happened before this page was opened.
  void app.restored.then(() => model.refresh());
}

export default plugin;
