import 'uplot/dist/uPlot.min.css';
import './base.css';
import './code.css';
import './live.css';
