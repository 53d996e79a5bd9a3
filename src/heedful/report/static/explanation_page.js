// The entry of a page that shows one text and nothing else.

import { startAnswers } from "./answer_places.js";
import { startCharts } from "./charts.js";

startAnswers(document);
startCharts();
