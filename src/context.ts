import { createContext, useContext } from 'react';
import type { ISignal } from '@lumino/signaling';
import type { TranslationBundle } from '@jupyterlab/translation';
import type { Inspector } from './inspector';
import type { PostMortems } from './model';
import type { INotebooks } from './notebooks';

/** What the components need from JupyterLab and the server. */
export interface IDoctor {
  trans: TranslationBundle;
  model: PostMortems;
  inspector: Inspector;
  notebooks: INotebooks;
  docsUrl: (path: string) => string;
  copy: (text: string) => void;
  themeChanged: ISignal<unknown, unknown>;
}

export const DoctorContext = createContext<IDoctor | null>(null);

export function useDoctor(): IDoctor {
  const doctor = useContext(DoctorContext);
  if (!doctor) {
    throw new Error('The panel is rendered outside its DoctorContext.');
  }
  return doctor;
}
