import { MainAreaWidget } from '@jupyterlab/apputils';
import type { JupyterFrontEnd } from '@jupyterlab/application';
import { IRenderMimeRegistry } from '@jupyterlab/rendermime';
import { DoctorClient } from './api';
import { doctorIcon } from './icons';

/** Opens a reference page as a tab of JupyterLab. */
export async function openPage(
  app: JupyterFrontEnd,
  rendermime: IRenderMimeRegistry,
  client: DoctorClient,
  path: string
): Promise<void> {
  const id = `kerneldoctor-page-${path.replace(/\W+/g, '-')}`;
  const open = Array.from(app.shell.widgets('main')).find(
    widget => widget.id === id
  );
  if (!open) {
    const content = rendermime.createRenderer('text/markdown');
    const source = await client.page(path);
    const model = rendermime.createModel({ data: { 'text/markdown': source } });
    await content.renderModel(model);
    content.addClass('jp-KernelDoctor-page');
    const tab = new MainAreaWidget({ content });
    tab.id = id;
    tab.title.label = path.split('/').pop() ?? path;
    tab.title.icon = doctorIcon;
    tab.title.closable = true;
    app.shell.add(tab, 'main');
  }
  app.shell.activateById(id);
}
