package datasets

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"ppal/datasets/tabular"
	"ppal/internal/columnar"
	"ppal/internal/loader"
)

// communities describes Communities and Crime: 1,994 communities of the United States, their census
// of 1990 and their crime of 1995 (Redmond, "Communities and Crime", UCI Machine Learning
// Repository, 2009; communities.data).
//
// A community has the class +1 if its violent crimes per head are at or above 0.28, the 70th
// percentile of the file. The five columns that identify a community are left out. The other 122
// columns are numbers, standardised. Missing values occur in 23 of these columns. A missing value
// becomes 0, the mean, and sets a flag in an additional feature. The table has 145 features in all.
// Groups are intersections of the shares of black, Hispanic and Asian people; see intersections.
func communities() Dataset {
	d := Dataset{
		Name:        "communities",
		Description: "crime in 1,994 communities; intersectional groups of black, Hispanic and Asian shares",
		Classes:     communitiesClasses,
		Features:    145,
		Files: []File{{
			Path:   "communities/communities.data",
			Size:   1100821,
			SHA256: "d90d85bd66bad9a00fa0ed6c15ac017b5966d528e55ba2940ad028d071353f95",
			URLs:   []string{"https://archive.ics.uci.edu/ml/machine-learning-databases/communities/communities.data"},
		}},
	}
	d.table = func(_ context.Context, dir string, opts tabular.TableOptions) (*loader.Source, error) {
		s, err := readCommunities(filepath.Join(dir, filepath.FromSlash(d.Files[0].Path)), opts.Attributes)
		if err != nil {
			return nil, err
		}
		return communitiesTable(s, opts)
	}
	return d
}

const (
	crimeColumn    = "ViolentCrimesPerPop"
	crimeThreshold = 0.28 // the 70th percentile of all 1,994 rows
	crimeLabel     = "crime"
)

var communitiesClasses = []string{fmt.Sprintf("%s<%v", crimeColumn, crimeThreshold), fmt.Sprintf("%s>=%v", crimeColumn, crimeThreshold)}

func readCommunities(path string, attributes []string) (*columnar.Sheet, error) {
	design := communitiesDesign()
	return columnar.ReadSheetFile(path, &columnar.Schema{
		Layout: design.Layout, Absent: design.Absent,
		Columns: append(design.Specs(), columnar.ColumnSpec{Name: crimeColumn, Numeric: true}), Attributes: attributes,
	})
}

// communitiesTable makes the table from a sheet with the columns of the file.
func communitiesTable(s *columnar.Sheet, opts tabular.TableOptions) (*loader.Source, error) {
	crime := s.Column(crimeColumn)
	label := &columnar.Column{Name: crimeLabel, Values: []string{"low", "high"}}
	for _, x := range crime.Numbers {
		code := int32(0)
		if x >= crimeThreshold {
			code = 1
		}
		label.Codes = append(label.Codes, code)
	}
	s.Columns = append(s.Columns, label)
	out, err := communitiesDesign().Table(s, opts)
	if err == nil {
		out.Label = tabular.Label{Column: crimeColumn, Condition: communitiesClasses[1], Otherwise: communitiesClasses[0]}
	}
	return out, err
}

func communitiesDesign() *loader.Design {
	d := &loader.Design{
		Label: crimeLabel, Positive: "high",
		Classes: communitiesClasses,
		Layout:  tabular.Layout{Header: strings.Fields(communitiesColumns), Separator: ","},
		Absent:  []string{"?"},
		By:      []string{"racepctblack", "racePctHisp", "racePctAsian"},
	}
	missing := map[string]bool{}
	for _, name := range strings.Fields(communitiesMissing) {
		missing[name] = true
	}
	const identifiers = 5 // state, county, community, communityname, fold
	for _, name := range d.Layout.Header[identifiers:] {
		if name != crimeColumn {
			d.Encodings = append(d.Encodings, tabular.Encoding{Column: name, Missing: missing[name]})
		}
	}
	return d
}

// communitiesMissing lists the columns in which values may be missing: most communities did not
// take part in the survey of police departments.
const communitiesMissing = `OtherPerCap LemasSwornFT LemasSwFTPerPop LemasSwFTFieldOps LemasSwFTFieldPerPop LemasTotalReq
LemasTotReqPerPop PolicReqPerOffic PolicPerPop RacialMatchCommPol PctPolicWhite PctPolicBlack PctPolicHisp PctPolicAsian
PctPolicMinor OfficAssgnDrugUnits NumKindsDrugsSeiz PolicAveOTWorked PolicCars PolicOperBudg LemasPctPolicOnPatr
LemasGangUnitDeploy PolicBudgPerPop`

// communitiesColumns lists the file's columns in order; the file has no header.
const communitiesColumns = `
state county community communityname fold population householdsize racepctblack racePctWhite racePctAsian racePctHisp
agePct12t21 agePct12t29 agePct16t24 agePct65up numbUrban pctUrban medIncome pctWWage pctWFarmSelf pctWInvInc
pctWSocSec pctWPubAsst pctWRetire medFamInc perCapInc whitePerCap blackPerCap indianPerCap AsianPerCap OtherPerCap
HispPerCap NumUnderPov PctPopUnderPov PctLess9thGrade PctNotHSGrad PctBSorMore PctUnemployed PctEmploy PctEmplManu
PctEmplProfServ PctOccupManu PctOccupMgmtProf MalePctDivorce MalePctNevMarr FemalePctDiv TotalPctDiv PersPerFam
PctFam2Par PctKids2Par PctYoungKids2Par PctTeen2Par PctWorkMomYoungKids PctWorkMom NumIlleg PctIlleg NumImmig
PctImmigRecent PctImmigRec5 PctImmigRec8 PctImmigRec10 PctRecentImmig PctRecImmig5 PctRecImmig8 PctRecImmig10
PctSpeakEnglOnly PctNotSpeakEnglWell PctLargHouseFam PctLargHouseOccup PersPerOccupHous PersPerOwnOccHous
PersPerRentOccHous PctPersOwnOccup PctPersDenseHous PctHousLess3BR MedNumBR HousVacant PctHousOccup PctHousOwnOcc
PctVacantBoarded PctVacMore6Mos MedYrHousBuilt PctHousNoPhone PctWOFullPlumb OwnOccLowQuart OwnOccMedVal OwnOccHiQuart
RentLowQ RentMedian RentHighQ MedRent MedRentPctHousInc MedOwnCostPctInc MedOwnCostPctIncNoMtg NumInShelters NumStreet
PctForeignBorn PctBornSameState PctSameHouse85 PctSameCity85 PctSameState85 LemasSwornFT LemasSwFTPerPop
LemasSwFTFieldOps LemasSwFTFieldPerPop LemasTotalReq LemasTotReqPerPop PolicReqPerOffic PolicPerPop RacialMatchCommPol
PctPolicWhite PctPolicBlack PctPolicHisp PctPolicAsian PctPolicMinor OfficAssgnDrugUnits NumKindsDrugsSeiz
PolicAveOTWorked LandArea PopDens PctUsePubTrans PolicCars PolicOperBudg LemasPctPolicOnPatr LemasGangUnitDeploy
LemasPctOfficDrugUn PolicBudgPerPop ViolentCrimesPerPop`
